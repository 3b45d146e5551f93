"""Rent against own for the chosen plan: the figures as facts that advise rules read, and the guides' lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from functools import cache, partial

from msgspec import Struct, field

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans import (
    CARD_SEGMENTS,
    DESK_CARDS,
    CostComparison,
    EconomicsConstants,
    Flip,
    Plan,
    Threshold,
    compare_costs,
    facts_of_comparison,
    figures_of_comparison,
    guide_thresholds,
    load_economics,
    nearest_flip,
    owned_form,
    price_age_days,
    procurement_facts,
    procurement_figures,
    thresholds_disagree,
)
from whichgpu.engine.rules import FactCandidate
from whichgpu.engine.sizing import Figure


_JUDGED = ("whichgpu-judgement",)


class Procurement(Struct, frozen=True):
    """What was computed of renting and owning."""

    banded: Callable[[], dict[str, Figure]] = dict
    thresholds: tuple[Threshold, ...] = ()
    candidates: dict[str, list[FactCandidate]] = field(default_factory=dict)
    comparison: CostComparison | None = None
    owned_as: str | None = None  # the GPU that would be bought, where it is another form of the plan's

    @property
    def figures(self) -> dict[str, Figure]:
        """Every figure that can be computed, with its band; worked out when asked for, as few answers show them."""
        return self.banded()

    @property
    def flip(self) -> Flip | None:
        """What would turn the comparison; worked out when asked for, too."""
        return None if self.comparison is None else nearest_flip(self.comparison)


def compute(
    facts: Facts, plan: Plan | None, today: date | None = None, *, gpus: Mapping[str, Gpu] | None = None
) -> Procurement:
    """Compare renting with owning for a plan, or for what the facts alone say where there is none.

    Args:
        facts: resolved facts.
        plan: the recommended plan.
        today: tells how old the plan's price is; without it nothing is said of that.
        gpus: the catalogue, for the form in which the plan's GPU is sold where it is not sold singly.
    """
    constants = load_economics()
    owned_as = _owned_as(plan, gpus or {}, constants)
    comparison = compare_costs(facts, plan, constants, owned_as=owned_as)
    figures = figures_of_comparison(comparison)
    thresholds = guide_thresholds(facts, plan, comparison, constants)
    candidates = {}
    for name, value in procurement_facts(figures).items():
        made = figures[name]
        candidates[name] = _computed(name, value, made.formula, tuple(sorted(made.inputs)), (made.source,))
    candidates |= _of_the_comparison(comparison)
    candidates |= _of_the_lines(thresholds)
    candidates |= _of_the_plan(facts, plan, today)
    banded = cache(partial(procurement_figures, facts, plan, constants, owned_as))
    return Procurement(banded, thresholds, candidates, comparison, owned_as.id if owned_as else None)


def compared_facts(facts: Facts, plan: Plan | None, gpus: Mapping[str, Gpu]) -> dict[str, Value]:
    """What rules read of the same comparison, and nothing of where it comes from.

    Args:
        facts: resolved facts.
        plan: the recommended plan.
        gpus: the catalogue.
    """
    constants = load_economics()
    comparison = compare_costs(facts, plan, constants, owned_as=_owned_as(plan, gpus, constants))
    lines = guide_thresholds(facts, plan, comparison, constants)
    candidates = _of_the_comparison(comparison) | _of_the_lines(lines) | _of_the_plan(facts, plan, None)
    return facts_of_comparison(comparison) | {name: values[0].value for name, values in candidates.items()}


def _owned_as(plan: Plan | None, gpus: Mapping[str, Gpu], constants: EconomicsConstants) -> Gpu | None:
    """What would be bought in place of a rented plan's GPU; a plan that is bought or owned stays what it is."""
    if plan is None or plan.cost.origin in {"owned", "purchase"}:
        return None
    form = owned_form(plan.gpu, plan.count, gpus.values(), constants)
    return None if form is plan.gpu else form


def _computed(
    by: str, value: Value, formula: str, inputs: tuple[str, ...] = (), sources: tuple[str, ...] = ()
) -> list[FactCandidate]:
    return [FactCandidate("computed", f"economics.{by}", value, inputs, formula, sources)]


def _of_the_comparison(comparison: CostComparison) -> dict[str, list[FactCandidate]]:
    reads = ("own_vs_rent_cost_ratio", "clear_cost_ratio")
    candidates = {}
    if comparison.says != "unknown":
        words = f"clear where the sums differ by {comparison.clear_ratio:g} x or more"
        candidates["comparison_says"] = _computed("comparison", comparison.says, words, reads, _JUDGED)
        candidates["comparison_clear"] = _computed("comparison", comparison.clear, words, reads, _JUDGED)
    if (pays := comparison.hybrid_pays) is not None:
        words = "owning the base load and renting the peaks is not clearly costlier than either alone"
        candidates["hybrid_pays"] = _computed("comparison", pays, words, reads, _JUDGED)
    if not comparison.sold:
        words = "what is bought comes on boards of which the plan would use less than half"
        candidates["purchasable"] = _computed("comparison", False, words, ("least_board_use_share",), _JUDGED)
    return candidates


def _of_the_lines(thresholds: tuple[Threshold, ...]) -> dict[str, list[FactCandidate]]:
    sources = tuple(dict.fromkeys(threshold.source for threshold in thresholds))
    disagree = thresholds_disagree(thresholds)
    words = "the guides' thresholds compared"
    candidates = {"thresholds_disagree": _computed("thresholds", disagree, words, (), sources)}
    for line in thresholds:
        name = f"{line.id}_line_applies"
        candidates[name] = _computed(name, line.in_scope, line.scope, (), (line.source,))
    return candidates


def _of_the_plan(facts: Facts, plan: Plan | None, today: date | None) -> dict[str, list[FactCandidate]]:
    if plan is None:
        return {}
    card = plan.gpu.segment in CARD_SEGMENTS and plan.count <= DESK_CARDS
    words = f"{plan.count} x {plan.gpu.segment}; up to {DESK_CARDS} of {' or '.join(CARD_SEGMENTS)} go under a desk"
    candidates = {"desk_card": _computed("desk_card", card, words, (), _JUDGED)}
    if "gpus_owned" in facts:
        words = "as many of the plan's GPU as it takes are among gpus_owned"
        candidates["already_owned"] = _computed("already_owned", plan.cost.origin == "owned", words, ("gpus_owned",))
    if plan.cost.origin == "purchase":
        words = "some offer on the price list rents out the plan that would have to be bought"
        candidates["rented_out"] = _computed("rented_out", plan.cost.rented_from is not None, words, (), _JUDGED)
    if today is not None and plan.cost.offer is not None:
        age, words = max(0, price_age_days(plan.cost.offer, today)), "day of the decision - day the price was seen"
        candidates["price_age_days"] = _computed("price_age_days", age, words, (), (plan.cost.offer.source,))
    return candidates
