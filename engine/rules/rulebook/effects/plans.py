"""Effects on plans: rejecting them, keeping them for last, and points for or against them."""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.core import Facts, Node
from whichgpu.engine.rules.rulebook.effects.kind import EffectKind, read_template
from whichgpu.engine.rules.rulebook.grammar import BANDS, REASONS, EffectKey
from whichgpu.engine.rules.rulebook.model import Band, Claim, Effect
from whichgpu.engine.rules.rulebook.provenance import read_claim
from whichgpu.engine.rules.rulebook.reading import Context, Draft


class Reject(Effect, frozen=True):
    """``reject: text``: the plan cannot be recommended."""

    word = "reject"
    says = "rule the plan out: {text}"
    text: str


class Fallback(Effect, frozen=True):
    """``fallback: text``: the plan is chosen only where no other qualifies, and why."""

    word = "fallback"
    says = "choose the plan only where no other qualifies: {text}"
    text: str


_BAND_WORDS: dict[Band, str] = {
    "cards": "a guide names these cards for the case",
    "counts": "a guide names this number of GPUs for the case",
}


class Points(Effect, frozen=True):
    """``points: +4`` with ``reason: fit``: within one reason only the strongest counts.

    With ``claim`` the points stand only where the claim cannot be computed. With ``band`` a guide names these cards,
    or this number of GPUs, for the case of the rule. A rule has at most one of the two.
    """

    word = "points"
    points: float
    reason: str
    claim: Claim | None = None
    band: Band | None = None

    def words(self, number: Callable[[float], str]) -> str:
        """As ``Effect.words``."""
        side = "for" if self.points > 0 else "against"
        more = ""
        if self.claim:
            more = f"; {claim_words(self.claim, number)}"
        elif self.band:
            more = f"; {_BAND_WORDS[self.band]}"
        return f"{number(abs(self.points))} points {side} the plan, on {self.reason}{more}"

    def traced(self, _: Facts) -> tuple[str, list[object] | dict[str, object]]:
        """As ``Effect.traced``."""
        return self.word, {self.reason: self.points}


def claim_words(claim: Claim, number: Callable[[float], str]) -> str:
    """What a rule asserts and the program computes, in words."""
    words = f"a claim that is checked: {claim.quantity.replace('_', ' ').replace('usd', 'USD')}"
    against = claim.over or "the other plans"
    if claim.ratio is not None:
        return f"{words} {number(claim.ratio)} x that of {against}"
    return f"{words} beside {against}"


def _read_points(node: Node, draft: Draft, context: Context) -> list[Effect]:
    points = context.number(node, "`points`")
    if points == 0:
        context.add("wrong-form", "`points: 0` changes nothing", node, fix="give points above or below 0")
    then = draft.then or {}
    reason, claim = context.word(then, "reason", REASONS), read_claim(then, context)
    band = None if claim else context.word(then, "band", BANDS)
    return [Points(points, reason, claim, band)] if points and reason else []


REJECT = EffectKind(
    EffectKey("reject", "template", "the plan cannot be recommended, and why", stages=("reject",)),
    lambda node, draft, context: [Reject(read_template(node, draft, context))],
)
FALLBACK = EffectKind(
    EffectKey("fallback", "template", "the plan is chosen only where no other qualifies, and why", stages=("prefer",)),
    lambda node, draft, context: [Fallback(read_template(node, draft, context))],
)
POINTS = EffectKind(
    EffectKey("points", "number", "for (above 0) or against (below 0) a plan", stages=("prefer",), needs=("reason",)),
    _read_points,
    companions=(
        EffectKey(
            "reason",
            "word",
            "what the points are for: the strongest of a reason counts",
            stages=("prefer",),
            needs=("points",),
            choices=REASONS,
        ),
        EffectKey(
            "claim",
            "claim",
            "what the rule asserts and the program can compute: a quantity, or {quantity, ratio, over}",
            stages=("prefer",),
            needs=("points",),
        ),
        EffectKey(
            "band",
            "word",
            "a guide names these cards, or this number of GPUs, for the case",
            stages=("prefer",),
            needs=("points",),
            excludes=("claim",),
            choices=BANDS,
        ),
    ),
)
