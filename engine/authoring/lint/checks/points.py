"""What prefer rules give points for: ruled out, paid twice, computed anyway, bound to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check, named
from whichgpu.engine.rules import Points, Rule


@check("error", silence="with the preference's id")
def contradicting_preference(context: LintContext) -> Iterator[Finding]:
    """Preference for plans that reject rules always rule out.

    Why: the points can never count. Either the preference or the rejection says something that its author did not mean.

    Bad::

        - id: big-cards
          stage: prefer
          each: plan
          when: [training, gpu.vram_gb >= 80]
          then: {points: 4, reason: fit}
        - id: no-big-cards
          stage: reject
          each: plan
          when: [gpu.vram_gb > 48]
          then: {reject: too large}

    Good: the rejection is limited to the case that it is about::

        - id: big-cards
          stage: prefer
          each: plan
          when: [training, gpu.vram_gb >= 80]
          then: {points: 4, reason: fit}
        - id: no-big-cards
          stage: reject
          each: plan
          when: [not training, gpu.vram_gb > 48]
          then: {reject: too large}

    Several reject rules that rule it out together count as well. Two rules that give one reason's points for and
    against wherever the first fires are found too, as are two that fire in the very same cases, whatever the amounts.
    """
    regions = context.regions
    rejects = context.rulebook.of_stage("reject", "plan") + context.rulebook.of_stage("reject", "workload")
    prefers = context.rulebook.of_stage("prefer")
    for rule in prefers:
        where = regions.fires(rule)
        if regions.never(where):
            continue
        rejecting = regions.cover(where, rejects, regions.fires)
        if rejecting:
            verb = "always rejects" if len(rejecting) == 1 else "together always reject"
            yield contradicting_preference.about(
                rule,
                f"{rule.id} gives points to plans that {named(rejecting)} {verb}",
                fix="narrow the rejection, or drop the preference",
            )
            continue
        opponent = next((other for other in prefers if _opposes(rule, other, context)), None)
        if opponent is not None:
            yield contradicting_preference.about(
                rule,
                f"wherever {rule.id} gives points for {_points(rule)[0].reason}, {opponent.id} takes some away",
                severity="warning",
                fix=f"let one override the other, or exclude its case in {opponent.id}",
            )


def _points(rule: Rule) -> list[Points]:
    return [effect for effect in rule.effects if isinstance(effect, Points)]


def _opposes(rule: Rule, other: Rule, context: LintContext) -> bool:
    """Whether the other rule takes points for the reason of this one: as many wherever it fires, or any just there."""
    mine, theirs = _points(rule), _points(other)
    if not mine or not theirs or mine[0].reason != theirs[0].reason or mine[0].points <= 0:
        return False
    regions = context.regions
    inside = theirs[0].points < 0 and regions.never(regions.fires(rule), regions.outside(regions.fires(other)))
    if theirs[0].points <= -mine[0].points:
        return inside
    return inside and regions.never(regions.fires(other), regions.outside(regions.fires(rule)))


@check("warning", silence="with the later rule's id")
def evidence_twice(context: LintContext) -> Iterator[Finding]:
    """One heuristic paid under two reasons for the same plan.

    Why: within a reason only the strongest points count, so that saying a thing twice adds nothing. Two rules that rest
    on one heuristic and give their points for different reasons get round that: the plan is paid twice for one piece of
    evidence.

    Bad::

        - id: 4090-for-tuning
          when: [finetuning, gpu.series == nvidia-rtx-4090]
          then: {points: 3, reason: fit}
          encodes: [4090-best-for-tuning]
        - id: 4090-at-home
          when: [gpu.series == nvidia-rtx-4090]
          then: {points: 2, reason: availability}
          encodes: [4090-best-for-tuning]

    Good: the same reason, or each rule with evidence of its own::

        - id: 4090-at-home
          when: [gpu.series == nvidia-rtx-4090]
          then: {points: 2, reason: availability}
          encodes: [desktop-cards-fit-desktops]

    Found are rules that can fire for the same plan and both speak for it, or both against it. A guide's line that names
    cards and a number of them is two statements: the rule with ``band: cards`` and the one with ``band: counts`` may
    share it.
    """
    regions = context.regions
    prefers = [rule for rule in context.rulebook.of_stage("prefer") if rule.encodes]
    for rule, other in combinations(prefers, 2):
        shared = sorted(set(rule.encodes) & set(other.encodes))
        if not shared or not _paid_apart(rule, other) or {rule.id, other.id} & {*rule.overrides, *other.overrides}:
            continue
        case = regions.find(regions.fires(rule), regions.fires(other))
        if case is None:
            continue
        mine, theirs = _points(rule)[0].reason, _points(other)[0].reason
        yield evidence_twice.about(
            other,
            f"{other.id} gives points for {theirs} on the evidence of {shared[0]}, and {rule.id} for {mine}",
            fix="give both the same reason, or leave the heuristic to one of them",
            case=case,
        )


def _paid_apart(rule: Rule, other: Rule) -> bool:
    """Whether both speak for a plan, or both against it, and the two would add up."""
    mine, theirs = _points(rule), _points(other)
    if not mine or not theirs or mine[0].reason == theirs[0].reason:
        return False
    if (mine[0].points > 0) != (theirs[0].points > 0):
        return False
    return {mine[0].band, theirs[0].band} != {"cards", "counts"}


#: The reasons that are computed, and what a claim about each is of.
_QUANTITIES = {"speed": "speed", "latency": "speed", "cost": "cost", "efficiency": "throughput_per_usd"}
#: Figures of speed and cost that a plan has; a rule that reads one judges what was computed.
_FIGURES = frozenset(
    {
        "plan.tokens_per_s",
        "plan.samples_per_s",
        "plan.ttft_ms",
        "plan.tpot_ms",
        "plan.step_s",
        "plan.latency_ms",
        "plan.qps",
        "plan.max_concurrency",
        "plan.hours",
        "plan.power_w",
        "plan.speed_vs_fastest",
        "plan.cost_vs_cheapest",
    }
)


@check("warning")
def untyped_claim(context: LintContext) -> Iterator[Finding]:
    """Points for speed, latency, cost or efficiency that do not say what they claim.

    Why: speed and cost are computed and ranked. Points for them on the word of a source count the same thing again, and
    nothing shows whether the source is right here. As a claim the points count only where nothing can be computed, and
    the answer shows the source's figure beside its own.

    Bad::

        - id: h200-serves-faster
          when: [serving, gpu.series == nvidia-h200]
          then: {points: 2, reason: speed}

    Good::

        - id: h200-serves-faster
          when: [serving, gpu.series == nvidia-h200]
          then: {points: 2, reason: speed, claim: {quantity: speed, ratio: 2, over: nvidia-h100}}

    A rule that names cards for a case may be a band instead. Rules whose conditions read the computed figure
    themselves, such as ``plan.tpot_ms > 100``, claim nothing and are left alone.
    """
    for rule in context.rulebook.of_stage("prefer"):
        if any(fact in _FIGURES or fact.startswith("plan.usd_") for fact in rule.reads):
            continue
        for effect in _points(rule):
            reason, quantity = effect.reason, _QUANTITIES.get(effect.reason)
            if quantity and not effect.claim and not effect.band:
                yield untyped_claim.about(
                    rule,
                    f"{rule.id} gives points for {reason}, which is computed, and says neither `claim` nor `band`",
                    fix=f"add `claim: {quantity}`, with `ratio` and `over` where the source gives them",
                )


_CARDS = frozenset({"plan.gpu", "plan.family", "plan.owned"})
_COUNTS = frozenset({"plan.count", "plan.is_smallest_fit"})


@check("error")
def unbound_band(context: LintContext) -> Iterator[Finding]:
    """Band that names no cards, or no number of GPUs.

    Why: a band says which cards, or how many, a guide gives for a case. The conditions on the plan are what it names.
    Without one the band would bind nothing, or every plan alike.

    Bad::

        - id: adapters-on-one-card
          when: [finetuning, peft_method == qlora]
          then: {points: 2, reason: scale, band: counts}

    Good::

        - id: adapters-on-one-card
          when: [finetuning, peft_method == qlora, plan.count == 1]
          then: {points: 2, reason: scale, band: counts}

    ``band: cards`` reads a ``gpu.`` fact, ``plan.gpu`` or ``plan.family``, or ``plan.owned`` where the cards are those
    that one has; ``band: counts`` reads ``plan.count``, or ``plan.is_smallest_fit`` where the guide's number is the
    smallest that holds the job. Points against a plan are no band either: a guide that warns of cards names none.
    """
    for rule in context.rulebook.of_stage("prefer"):
        for effect in _points(rule):
            if effect.band is None:
                continue
            if effect.band == "cards":
                what, wanted = "cards", "gpu.series"
                bound = any(fact in _CARDS or fact.startswith("gpu.") for fact in rule.reads)
            else:
                what, wanted, bound = "number of GPUs", "plan.count", not _COUNTS.isdisjoint(rule.reads)
            if not bound:
                yield unbound_band.about(
                    rule,
                    f"{rule.id} says `band: {effect.band}`, and none of its conditions says which {what}",
                    fix=f"add a condition on `{wanted}`, or drop the band",
                )
            elif effect.points < 0:
                yield unbound_band.about(
                    rule,
                    f"{rule.id} says `band: {effect.band}` and gives points against what it names",
                    fix="drop the band, or turn the points round",
                )
