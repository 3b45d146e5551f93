"""What a rule does, in words."""

from __future__ import annotations

from whichgpu.cli.render.figures import joined
from whichgpu.cli.render.figures import number
from whichgpu.engine.rules.rulebook.model import Ask
from whichgpu.engine.rules.rulebook.model import Band
from whichgpu.engine.rules.rulebook.model import Claim
from whichgpu.engine.rules.rulebook.model import ConsiderCounts
from whichgpu.engine.rules.rulebook.model import Disagree
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.model import Fallback
from whichgpu.engine.rules.rulebook.model import Monitor
from whichgpu.engine.rules.rulebook.model import Points
from whichgpu.engine.rules.rulebook.model import Reject
from whichgpu.engine.rules.rulebook.model import Say
from whichgpu.engine.rules.rulebook.model import SetFact
from whichgpu.engine.rules.rulebook.model import ShowFigure


_BANDS: dict[Band, str] = {
    "cards": "a guide names these cards for the case",
    "counts": "a guide names this number of GPUs for the case",
}


def claim_text(claim: Claim) -> str:
    """What a rule asserts and the program computes, in words."""
    words = f"a claim that is checked: {claim.quantity.replace('_', ' ').replace('usd', 'USD')}"
    against = claim.over or "the other plans"
    if claim.ratio is not None:
        return f"{words} {number(claim.ratio)} x that of {against}"
    return f"{words} beside {against}"


def effect_text(effect: Effect) -> str:
    """One effect as a sentence without its full stop."""
    match effect:
        case SetFact(fact, _, text):
            words = f"set {fact} to {text}"
        case Reject(text):
            words = f"rule the plan out: {text}"
        case Fallback(text):
            words = f"choose the plan only where no other qualifies: {text}"
        case Points(points, reason, claim, band):
            words = f"{number(abs(points))} points {'for' if points > 0 else 'against'} the plan, on {reason}"
            words += f"; {claim_text(claim)}" if claim else f"; {_BANDS[band]}" if band else ""
        case Say(kind, code):
            words = f"{'warn' if kind == 'warn' else 'advise'}: {code}"
        case Ask(fact):
            words = f"ask for {fact}"
        case Monitor(figure, low, high):
            target = number(low) if high is None else f"{number(low)} to {number(high)}"
            words = f"watch {figure}: {target}"
        case Disagree(conflict):
            words = f"name the disagreement {conflict}"
        case ShowFigure(figure):
            words = f"report the figure {figure}"
        case ConsiderCounts(counts):
            words = f"plan {joined([str(count) for count in counts], 'or')} GPUs as well"
    return words
