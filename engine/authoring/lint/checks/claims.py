"""What rules claim of cards: the right way round, of another card, of the quantity that the points are for."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import Claim, Compare, Const, Expr, FactRef, Member, Points, Rule, constants


#: Quantities of which more is worse.
_LESS_IS_BETTER = frozenset({"cost"})
#: No guide says of two cards that one is a hundred times the other: a percentage was written for a ratio.
MOST_RATIO = 50
#: Reasons that name what is compared, and the quantities that points for them may rest on.
_OF_REASON = {"speed": {"speed"}, "latency": {"speed"}, "cost": {"cost", "throughput_per_usd", "speed"}}
#: How GPUs are joined, which the speed of a plan counts.
_LINKS = frozenset({"plan.link", "plan.node_link", "gpu.link", "gpu.link_gbs", "gpu.nvlink"})
_CARD_FACTS = ("gpu.series", "gpu.family", "gpu.id", "plan.gpu", "plan.family")


@check("warning")
def wrong_claim(context: LintContext) -> Iterator[Finding]:
    """Claim that cannot be what is meant.

    Why: a claim is checked against computed figures wherever there are any. One that is turned round, or of another
    quantity than the points are for, calls a guide wrong that is right; one of a card beside itself says nothing.

    Bad::

        - id: h200-serves-faster
          when: [serving, gpu.series == nvidia-h200]
          then: {points: 2, reason: speed, claim: {quantity: speed, ratio: 0.5, over: nvidia-h100}}

    Good::

        - id: h200-serves-faster
          when: [serving, gpu.series == nvidia-h200]
          then: {points: 2, reason: speed, claim: {quantity: speed, ratio: 2, over: nvidia-h100}}

    Points for a plan go with a ratio above 1 (of ``cost``: below 1), points against it with the contrary. Where
    the heuristics of the rule state ratios it is one of them, or nearly.
    """
    for rule in context.rulebook.of_stage("prefer"):
        for effect in rule.effects:
            if isinstance(effect, Points) and effect.claim is not None:
                said = next(_faults(rule, effect, effect.claim, context), None)
                if said:
                    yield wrong_claim.about(rule, f"{rule.id} {said[0]}", fix=said[1])


def _faults(rule: Rule, points: Points, claim: Claim, context: LintContext) -> Iterator[tuple[str, str]]:
    ratio, quantity = claim.ratio, claim.quantity
    if ratio is not None:
        if ratio == 1:
            yield "claims a ratio of 1, which is no difference", "write what the source states, or leave the ratio out"
        if not 1 / MOST_RATIO <= ratio <= MOST_RATIO:
            yield f"claims {ratio:g} times the {quantity}", "write how many times as much, not percent"
        better = (ratio > 1) != (quantity in _LESS_IS_BETTER)
        if better != (points.points > 0):
            side = "for" if points.points > 0 else "against"
            yield (
                f"gives points {side} the plan, and claims {ratio:g} times the {quantity} of {claim.over or 'others'}",
                "turn the ratio or the points round",
            )
        stated = {entry.number for entry in context.stated_by(rule) if entry.of == "x"}
        agree = (abs(mine - other) <= other / 3 for mine in (ratio, 1 / ratio) for other in stated)
        if stated and not any(agree):
            named = ", ".join(f"{number:g}" for number in sorted(stated))
            yield f"claims a ratio of {ratio:g}; the heuristics it cites state {named}", "write the stated ratio"
    allowed = _OF_REASON.get(points.reason)
    if allowed and quantity not in allowed:
        yield f"gives points for {points.reason} and claims {quantity}", "claim what the points are for"
    own = {value for line in rule.when if _names(line.expr) for _, value in constants(line.expr)}
    if claim.over is not None and own and own <= _same(claim.over, context):
        yield f"compares {claim.over} with itself", "name the card that it is compared with"


def _names(expr: Expr) -> bool:
    """Whether the line names the cards that the rule is for."""
    match expr:
        case Compare("==", FactRef(fact), Const()) | Member(FactRef(fact), _, False):
            return fact in _CARD_FACTS
    return False


def _same(name: str, context: LintContext) -> set[object]:
    """The names of the cards that go by this name, and of what they belong to."""
    keys = ("gpu.id", "gpu.family", "gpu.series")
    found = (gpu for gpu in context.catalogue.gpus if name in [gpu.get(key) for key in keys])
    return {name, *(gpu.get(key) for gpu in found for key in keys)}


@check("warning")
def barred_though_owned(context: LintContext) -> Iterator[Finding]:
    """Rule about links that rejects hardware which stands there.

    Why: a slow link costs time, and the speed of a plan counts what crosses it. Whoever rents or buys may be told to
    take another; who has the cards would be told to rent beside them, however fast they are.

    Bad::

        - id: large-jobs-want-a-fast-link
          stage: reject
          each: plan
          when: [training, plan.count > 8, plan.link == pcie]

    Good::

        - id: large-jobs-want-a-fast-link
          stage: reject
          each: plan
          when: [training, plan.count > 8, plan.link == pcie, not plan.owned]

    What a slow link costs those who own it, another rule may warn of.
    """
    for rule in context.rulebook.of_stage("reject", "plan"):
        if rule.reads & _LINKS and not rule.reads & {"plan.owned", "plan.bought"}:
            yield barred_though_owned.about(
                rule,
                f"{rule.id} rejects plans for their link, those on hardware that is owned too",
                fix="add `not plan.owned`, and warn those who own it",
            )
