"""Claims of rules beside what is computed: which plan they are compared with, and when nothing can be computed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu import Advisor
from whichgpu.engine.advisor.claims import (
    Comparables,
    PlanFigures,
    check_claim,
    checked_claims,
    figures_of,
    quantity_of,
)
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.plans.model import Cost, Layout, Plan
from whichgpu.engine.rules.rulebook.effects import Points
from whichgpu.engine.rules.rulebook.model import Claim, Rule


def rule(claim: Claim | None, points: float = 2, name: str = "r") -> Rule:
    return Rule(name, name, "prefer", "plan", (), (Points(points, "speed", claim),), "", "", ("guide",))


def gpu(name: str, series: str | None = None) -> Gpu:
    return Gpu(id=name, family=name, series=series or name, name=name, vendor="nvidia", vram_gb=80)


def figures(name: str, count: int = 1, *, series: str | None = None, **known: float | None) -> PlanFigures:
    values: dict[str, float | None] = {"cost": 1.0, "speed": 1.0, "usd_per_hour": 1.0, "power_w": 1.0, **known}
    return PlanFigures(f"{name}x{count}", gpu(name, series), count, **values)


def among(*plans: PlanFigures) -> Comparables:
    """Cheapest first."""
    return Comparables(plans, lambda plan: -(plan.cost if plan.cost is not None else 1e9))


FASTER = Claim("speed", 2.0, "h100")


def test_a_claim_is_computed_beside_the_card_that_it_names() -> None:
    mine = figures("h200", speed=103)
    checked = check_claim(rule(FASTER), mine, among(mine, figures("h100", speed=100), figures("a100", speed=50)))
    assert checked is not None
    assert (checked.rule, checked.quantity, checked.claimed_ratio, checked.over) == ("r", "speed", 2.0, "h100")
    assert checked.other.plan == "h100x1"
    assert checked.computed_ratio == pytest.approx(1.03)
    assert checked.agrees
    assert checked.same_count


@pytest.mark.parametrize("name", ["h100-80gb-sxm", "h100"])
def test_the_card_is_named_by_id_or_series(name: str) -> None:
    mine = figures("h200")
    other = figures("h100-80gb-sxm", series="h100", speed=0.5)
    checked = check_claim(rule(Claim("speed", 2, name)), mine, among(mine, other))
    assert checked is not None
    assert checked.other == other


def test_as_many_gpus_of_the_named_card_come_before_a_better_plan_of_it() -> None:
    mine = figures("h200", 2)
    cheap, same = figures("h100", 1, cost=0.1), figures("h100", 2, cost=5)
    checked = check_claim(rule(FASTER), mine, among(mine, cheap, same, figures("h100", 2, cost=9)))
    assert checked is not None
    assert checked.other == same


def test_without_as_many_the_best_plan_of_the_named_card_stands_in_and_it_shows() -> None:
    mine = figures("h200", 8)
    best = figures("h100", 4, cost=0.1)
    checked = check_claim(rule(FASTER), mine, among(mine, figures("h100", 1, cost=3), best))
    assert checked is not None
    assert checked.other == best
    assert not checked.same_count
    assert checked.per_gpu
    assert checked.computed_ratio == pytest.approx(0.5)  # the same speed with twice as many GPUs


@pytest.mark.parametrize("quantity", ["cost", "throughput_per_usd", "efficiency"])
def test_only_speed_is_compared_for_each_gpu(quantity: str) -> None:
    mine = figures("h200", 8)
    claim = Claim(quantity, 2, "h100")  # type: ignore[arg-type]
    checked = check_claim(rule(claim), mine, among(mine, figures("h100", 4)))
    assert checked is not None
    assert not checked.per_gpu
    assert checked.computed_ratio == pytest.approx(1)


def test_a_plan_that_the_rule_speaks_of_too_is_nothing_to_compare_with() -> None:
    mine = replace(figures("l4"), fired=frozenset({"r"}))
    sibling, other = replace(figures("rtx-4090", cost=0.1), fired=frozenset({"r", "s"})), figures("a100")
    checked = check_claim(rule(Claim("throughput_per_usd")), mine, among(mine, sibling, other))
    assert checked is not None
    assert checked.other == other
    assert check_claim(rule(Claim("throughput_per_usd")), mine, among(mine, sibling)) is None


def test_another_form_of_the_card_is_no_other_card() -> None:
    mine = figures("a100-sxm", series="a100")
    pcie, other = figures("a100-pcie", series="a100", cost=0.1), figures("l40s")
    checked = check_claim(rule(Claim("speed")), mine, among(mine, pcie, other))
    assert checked is not None
    assert checked.other == other


def test_a_claim_that_names_no_card_is_compared_with_the_best_plan_of_another() -> None:
    mine = figures("l4", cost=1)
    twice, best = figures("l4", 2, cost=0.5), figures("t4", 4, cost=2)
    checked = check_claim(rule(Claim("cost")), mine, among(mine, twice, figures("a100", cost=8), best))
    assert checked is not None
    assert checked.other == best
    assert checked.computed_ratio == 0.5


@pytest.mark.parametrize(
    ("quantity", "lacking"),
    [
        ("speed", "speed"),
        ("cost", "cost"),
        ("throughput_per_usd", "usd_per_hour"),
        ("throughput_per_usd", "speed"),
        ("efficiency", "power_w"),
    ],
)
def test_nothing_is_computed_where_a_figure_is_missing_on_either_side(quantity: str, lacking: str) -> None:
    mine, other = figures("h200"), figures("h100")
    claim = Claim(quantity, 2, "h100")  # type: ignore[arg-type]
    assert check_claim(rule(claim), mine, among(mine, other)) is not None
    for value in (None, 0.0):
        without = {lacking: value}
        assert check_claim(rule(claim), replace(mine, **without), among(mine, other)) is None  # type: ignore[arg-type]
        assert check_claim(rule(claim), mine, among(mine, replace(other, **without))) is None  # type: ignore[arg-type]


def test_a_plan_whose_figure_is_missing_is_passed_over() -> None:
    mine = figures("h200")
    blind, seen = figures("h100", speed=None), figures("h100", 2, cost=5)
    checked = check_claim(rule(FASTER), mine, among(mine, blind, seen))
    assert checked is not None
    assert checked.other == seen


def test_nothing_is_computed_where_the_named_card_has_no_plan_or_nothing_is_claimed() -> None:
    mine = figures("h200")
    assert check_claim(rule(FASTER), mine, among(mine, figures("a100"))) is None
    assert check_claim(rule(None), mine, among(mine, figures("h100"))) is None
    assert check_claim(rule(Claim("speed", 2, "h200")), mine, among(mine, figures("h200", 2))) is None


def test_throughput_for_the_money_and_efficiency_are_shares() -> None:
    plan = figures("x", speed=100, usd_per_hour=4, power_w=50)
    assert quantity_of(plan, "throughput_per_usd") == 25
    assert quantity_of(plan, "efficiency") == 2


@pytest.mark.parametrize(
    ("claim", "points", "agrees"),
    [
        (Claim("speed", 2, "h100"), 2, True),  # computed: 1.5 x the speed
        (Claim("speed", 0.1, "h100"), -6, False),
        (Claim("speed", None, "h100"), 2, True),
        (Claim("speed", None, "h100"), -2, False),
        (Claim("cost", None, "h100"), -2, True),  # computed: 3 x the cost
        (Claim("cost", None, "h100"), 2, False),
        (Claim("cost", 0.6, "h100"), 2, False),
        (Claim("throughput_per_usd", 1, "h100"), -2, True),
    ],
    ids=str,
)
def test_a_claim_agrees_on_its_side_of_one(claim: Claim, points: float, agrees: bool) -> None:
    mine, other = figures("h200", speed=1.5, cost=3, usd_per_hour=3), figures("h100")
    checked = check_claim(rule(claim, points), mine, among(mine, other))
    assert checked is not None
    assert checked.agrees is agrees


def test_the_claims_of_a_plan_are_those_whose_points_do_not_count() -> None:
    mine = figures("h200", power_w=None)
    rules = [rule(FASTER, name="a"), rule(None, name="b"), rule(Claim("efficiency"), name="c")]
    assert list(checked_claims(rules, mine, among(mine, figures("h100")))) == ["a"]


def test_the_figures_of_a_plan_come_from_it_and_from_the_round() -> None:
    card = gpu("l4")
    plan = Plan("l4x2", card, 2, 1, "pcie", "none", Layout(), None, None, None, Cost(usd_per_hour=2.5), 144.0, "stated")
    found = figures_of(plan, cost=7.0, speed=90.0, fired=["a"])
    assert found == PlanFigures("l4x2", card, 2, 7.0, 90.0, 2.5, 144.0, frozenset({"a"}))


POSITIVE = st.floats(min_value=1e-6, max_value=1e9)


@given(POSITIVE, POSITIVE, st.sampled_from(["speed", "cost", "throughput_per_usd", "efficiency"]))
def test_two_plans_see_each_other_as_reciprocals(one: float, two: float, quantity: str) -> None:
    first, second = figures("a", speed=one, cost=one), figures("b", speed=two, cost=two)
    round_of = among(first, second)
    there = check_claim(rule(Claim(quantity)), first, round_of)  # type: ignore[arg-type]
    back = check_claim(rule(Claim(quantity)), second, round_of)  # type: ignore[arg-type]
    assert there is not None
    assert back is not None
    assert there.computed_ratio * back.computed_ratio == pytest.approx(1)


@given(st.permutations([figures("a", cost=2), figures("b", cost=1), figures("b", 2, cost=1), figures("c", cost=1)]))
def test_the_order_of_plans_decides_nothing(plans: list[PlanFigures]) -> None:
    mine = figures("z")
    checked = check_claim(rule(Claim("cost")), mine, among(*plans))
    assert checked is not None
    assert checked.other.plan == "bx1"


def test_every_card_that_a_shipped_claim_names_is_in_the_catalogue(advisor: Advisor) -> None:
    named = {
        effect.claim.over
        for rule in advisor.rulebook.rules
        for effect in rule.effects
        if isinstance(effect, Points) and effect.claim and effect.claim.over
    }
    known = {name for card in advisor.knowledge.gpus.values() for name in (card.id, card.family, card.series)}
    assert named
    assert named <= known
