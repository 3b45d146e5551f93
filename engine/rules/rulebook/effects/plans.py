"""Effects on plans: rejecting them, keeping them for last, and points for or against them."""

from __future__ import annotations

from whichgpu.engine.core import Node
from whichgpu.engine.rules.rulebook.effect_records import Fallback, Points, Reject
from whichgpu.engine.rules.rulebook.effects.kind import EffectKind, read_template
from whichgpu.engine.rules.rulebook.grammar import BANDS, REASONS, EffectKey
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.provenance import read_claim
from whichgpu.engine.rules.rulebook.reading import Context, Draft


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
