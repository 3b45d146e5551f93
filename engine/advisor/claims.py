"""Claims checked: what a guide says of a card beside what is computed of it here.

A rule whose points stand for a claim gives none where the claim can be computed, since speed and cost are ranked
already; ``check_claim`` says whether it can, and what comes out. Where a figure is missing on either side the points
count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import Claim, Points, Quantity, Rule


#: The source of what no guide says.
OWN_JUDGEMENT = "whichgpu-judgement"


class PlanFigures(Struct, frozen=True):
    """What is computed of one plan, as the round compares plans; None where a figure is not known.

    ``cost`` is money for the same work (or the same time), ``speed`` the work of the whole plan in a time. ``fired``
    are the prefer rules that fired for it.
    """

    plan: str
    gpu: Gpu
    count: int
    cost: float | None = None
    speed: float | None = None
    usd_per_hour: float | None = None
    power_w: float | None = None
    fired: frozenset[str] = frozenset()


class CheckedClaim(Struct, frozen=True):
    """A claim with its computed counterpart.

    ``computed_ratio`` is the plan's quantity divided by the other's. Sources speak of cards: speed is compared for each
    GPU where the plans have not equally many; cost, work per dollar and work per watt need no such thing.
    """

    rule: str
    plan: str
    quantity: Quantity
    claimed_ratio: float | None
    over: str | None  # as the rule names it
    better: bool  # whether the rule speaks for its plan
    own: bool  # whether the claim rests on our own judgement alone, and on no source outside
    other: PlanFigures  # the plan compared with
    count: int  # of the plan itself
    computed_ratio: float

    @property
    def same_count(self) -> bool:
        """Whether both plans have equally many GPUs."""
        return self.other.count == self.count

    @property
    def per_gpu(self) -> bool:
        """Whether the ratio is for each GPU and not for the whole plans."""
        return self.quantity == "speed" and not self.same_count

    @property
    def agrees(self) -> bool:
        """Whether the computed figure lies on the side of 1 on which the source sees the card."""
        if self.claimed_ratio is not None and self.claimed_ratio != 1:
            above = self.claimed_ratio > 1
        else:
            above = self.better != (self.quantity == "cost")
        return self.computed_ratio > 1 if above else self.computed_ratio < 1


#: How good a plan is under the objective: larger is better.
Merit = Callable[[PlanFigures], float]


class Comparables:
    """The plans of one round, the best first, found by any name of their GPU. Made once, asked for each claim."""

    def __init__(self, plans: Iterable[PlanFigures], merit: Merit) -> None:
        """Sort the plans by merit; ties go to the plan's id."""
        self._best_first = sorted(plans, key=lambda figures: (-merit(figures), figures.plan))
        self._named: dict[str, list[PlanFigures]] = {}
        for figures in self._best_first:
            for name in {figures.gpu.id, figures.gpu.family, figures.gpu.series}:
                self._named.setdefault(name, []).append(figures)

    def beside(self, plan: PlanFigures, claim: Claim, rule: str) -> PlanFigures | None:
        """The plan that a rule's claim compares with: of the card that it names, else of any other card.

        Of a named card the best plan with as many GPUs, else its best; without a name the best of another series. Plans
        that the rule speaks of too are none to compare with, and neither are those whose quantity is not known.
        """
        if claim.over is None:
            listed = [other for other in self._best_first if other.gpu.series != plan.gpu.series]
        else:
            listed = [other for other in self._named.get(claim.over, ()) if other.gpu.id != plan.gpu.id]
        fitting = [o for o in listed if rule not in o.fired and quantity_of(o, claim.quantity) is not None]
        if claim.over is not None:
            fitting = [o for o in fitting if o.count == plan.count] or fitting
        return fitting[0] if fitting else None


def figures_of(plan: Plan, *, cost: float | None, speed: float | None, fired: Iterable[str] = ()) -> PlanFigures:
    """The figures of a plan, with the cost that the round ranks, its throughput, and the rules that fired for it."""
    hourly = plan.cost.usd_per_hour
    return PlanFigures(plan.id, plan.gpu, plan.count, cost, speed, hourly, plan.power_w, frozenset(fired))


def quantity_of(plan: PlanFigures, quantity: Quantity) -> float | None:
    """The quantity that a claim is about, for one plan; None where it is not known or not above 0."""
    amount = plan.cost if quantity == "cost" else plan.speed
    per = {"throughput_per_usd": plan.usd_per_hour, "efficiency": plan.power_w}.get(quantity, 1.0)
    return amount / per if amount and per and amount > 0 else None


def check_claim(rule: Rule, plan: PlanFigures, others: Comparables) -> CheckedClaim | None:
    """A fired rule's claim about a plan beside what is computed; None where it makes none or nothing can be computed.

    Args:
        rule: a prefer rule that fired for the plan.
        plan: the plan that it fired for.
        others: the plans of the round.
    """
    points = next((each for each in rule.effects if isinstance(each, Points) and each.claim), None)
    if points is None or (claim := points.claim) is None:
        return None
    mine = quantity_of(plan, claim.quantity)
    other = others.beside(plan, claim, rule.id) if mine is not None else None
    theirs = quantity_of(other, claim.quantity) if other is not None else None
    if mine is None or other is None or theirs is None:
        return None
    if claim.quantity == "speed":
        mine, theirs = mine / plan.count, theirs / other.count
    return CheckedClaim(
        rule=rule.id,
        plan=plan.plan,
        quantity=claim.quantity,
        claimed_ratio=claim.ratio,
        over=claim.over,
        better=points.points > 0,
        own=set(rule.sources) == {OWN_JUDGEMENT},
        other=other,
        count=plan.count,
        computed_ratio=mine / theirs,
    )


def checked_claims(rules: Sequence[Rule], plan: PlanFigures, others: Comparables) -> Mapping[str, CheckedClaim]:
    """The claims of a plan's fired rules that can be computed, by rule. The points of these rules do not count."""
    checked = {rule.id: check_claim(rule, plan, others) for rule in rules}
    return {name: claim for name, claim in checked.items() if claim is not None}
