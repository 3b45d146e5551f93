"""What a rule does, in words."""

from __future__ import annotations

from cli.render.figures import joined
from cli.render.figures import number
from engine.rulebook.model import Ask
from engine.rulebook.model import ConsiderCounts
from engine.rulebook.model import Disagree
from engine.rulebook.model import Effect
from engine.rulebook.model import Monitor
from engine.rulebook.model import Points
from engine.rulebook.model import Reject
from engine.rulebook.model import Say
from engine.rulebook.model import SetFact
from engine.rulebook.model import ShowFigure


def effect_text(effect: Effect) -> str:
    """One effect as a sentence without its full stop."""
    match effect:
        case SetFact(fact, _, text):
            words = f"set {fact} to {text}"
        case Reject(text):
            words = f"rule the plan out: {text}"
        case Points(points, reason):
            words = f"{number(abs(points))} points {'for' if points > 0 else 'against'} the plan, on {reason}"
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
