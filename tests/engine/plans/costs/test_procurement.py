from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.costs.comparison import CostComparison, compare_costs
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.flips import all_flips, nearest_flip
from whichgpu.engine.plans.costs.procurement import YES_NO, comparison_entries, procurement_facts, procurement_figures
from whichgpu.engine.plans.costs.purchase import bought_count, owned_form
from whichgpu.engine.plans.costs.thresholds import Threshold, guide_thresholds, thresholds_disagree
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.sizing.intake import job_from_facts


ECONOMICS = load_economics()
KNOWLEDGE = load_knowledge()


def plan(gpu: str, count: int, facts: Facts | None = None) -> Plan:
    facts = facts or {"task": "inference", "param_count_b": 7.0}
    return PlanMaker(job_from_facts(facts, None), facts, KNOWLEDGE).plan(KNOWLEDGE.gpus[gpu], count, "test")


def comparison(facts: Facts, subject: Plan | None = None) -> CostComparison:
    return compare_costs(facts, subject, ECONOMICS)


def lines(facts: Facts, subject: Plan | None = None) -> dict[str, Threshold]:
    found = guide_thresholds(facts, subject, comparison(facts, subject), ECONOMICS)
    return {threshold.id: threshold for threshold in found}


def says(facts: Facts, subject: Plan | None = None) -> dict[str, str]:
    return {name: line.says for name, line in lines(facts, subject).items()}


def test_a_card_at_two_thousand_against_two_dollars_an_hour_breaks_even_at_a_thousand_hours() -> None:
    figures = procurement_figures({"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0}, None, ECONOMICS)
    assert figures["breakeven_gpu_hours"].value == pytest.approx(1000.0)
    assert figures["purchase_usd"].value == 2000.0
    assert "monthly_rent_usd" not in figures
    assert "breakeven_months" not in figures
    assert "monthly_energy_usd" not in figures


def test_electricity_lengthens_the_break_even() -> None:
    facts: Facts = {"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0, "electricity_usd_kwh": 0.5}
    figures = procurement_figures(facts, plan("nvidia-rtx-4090", 1), ECONOMICS)
    watts = KNOWLEDGE.gpus["nvidia-rtx-4090"].tdp_w + 150
    assert figures["breakeven_gpu_hours"].value == pytest.approx(2000.0 / (2.0 - watts / 1000 * 0.5))


def test_the_figures_of_a_used_workstation_agree_with_each_other() -> None:
    facts: Facts = {"utilization_pct": 80.0, "horizon_years": 3.0, "rent_quote_usd_h": 0.6}
    figures = procurement_figures(facts, plan("nvidia-rtx-4090", 1), ECONOMICS)
    value = {name: figure.value for name, figure in figures.items()}
    assert value["monthly_rent_usd"] == pytest.approx(0.6 * 0.8 * 730)
    assert value["lifetime_rent_usd"] == pytest.approx(36 * value["monthly_rent_usd"])
    assert value["lifetime_cost_usd"] == pytest.approx(36 * value["monthly_own_usd"])
    assert value["monthly_own_usd"] > value["monthly_depreciation_usd"] + value["monthly_energy_usd"]
    saved = value["monthly_rent_usd"] - value["monthly_energy_usd"]
    assert value["breakeven_months"] == pytest.approx(value["purchase_usd"] / saved)
    assert value["breakeven_gpu_hours"] == pytest.approx(value["breakeven_months"] * 0.8 * 730)
    assert value["own_cheaper_over_horizon"] == (value["lifetime_cost_usd"] < value["lifetime_rent_usd"])
    assert value["breakeven_within_horizon"] == (value["breakeven_months"] <= 36)
    assert "staff_cost_usd" not in value


def test_every_figure_has_band_formula_source_and_inputs() -> None:
    figures = procurement_figures({"always_on": True}, plan("nvidia-h100-80gb-sxm", 8), ECONOMICS)
    assert len(figures) >= 11
    for name, figure in figures.items():
        assert figure.low <= figure.value <= figure.high, name
        assert figure.formula, name
        assert figure.source, name
        assert figure.inputs, name
    assert figures["monthly_own_usd"].low < figures["monthly_own_usd"].high
    assert figures["purchase_usd"].inputs["gpu_share_of_system"] == 0.65
    assert figures["lifetime_rent_usd"].inputs["horizon_assumed"] is True


def test_a_server_carries_staff_space_and_maintenance() -> None:
    eight = plan("nvidia-h100-80gb-sxm", 8)
    figures = procurement_figures({"always_on": True}, eight, ECONOMICS)
    assert figures["staff_cost_usd"].value == pytest.approx(8 * 35 * 36)
    owning = comparison({"always_on": True}, eight).owning
    assert owning.space_month == pytest.approx(8 * 700 * 1.8 / 1000 * 194.95)
    costs = owning.costs(3.0, 8 * 730.0)
    assert costs["maintenance"] == pytest.approx(0.05 * 3 * figures["purchase_usd"].value)
    assert sum(costs.values()) == pytest.approx(figures["lifetime_cost_usd"].value)
    assert comparison({"always_on": True, "staff_cost_usd": 36_000.0}, eight).owning.staff_month == pytest.approx(
        1000.0
    )
    assert comparison({"always_on": True, "has_ops_team": True}, eight).owning.staff_month == 0.0


def test_a_host_is_bought_with_the_card_unless_there_is_one() -> None:
    card = plan("nvidia-rtx-4090", 1)
    with_host = procurement_figures({}, card, ECONOMICS)["purchase_usd"].value
    alone = procurement_figures({"current_gpu": "nvidia-rtx-3090"}, card, ECONOMICS)["purchase_usd"].value
    assert with_host - alone == pytest.approx(1500.0)


def test_a_board_in_the_field_has_something_around_it_each() -> None:
    price, around = KNOWLEDGE.gpus["nvidia-jetson-orin-nano-super"].buy_usd, ECONOMICS["field_host_usd"].value
    assert price is not None
    eight = procurement_figures({"deployment_site": "edge"}, plan("nvidia-jetson-orin-nano-super", 8), ECONOMICS)
    assert eight["purchase_usd"].value == 8 * (price + around)
    spark = KNOWLEDGE.gpus["nvidia-dgx-spark"].buy_usd
    desk = procurement_figures({"deployment_site": "workstation"}, plan("nvidia-dgx-spark", 1), ECONOMICS)
    assert desk["purchase_usd"].value == spark


def test_without_a_price_there_is_no_purchase() -> None:
    card = plan("nvidia-rtx-4090", 1)
    unpriced = replace(card, gpu=replace(card.gpu, buy_usd=None, buy_low_usd=None, buy_high_usd=None))
    figures = procurement_figures({"always_on": True}, unpriced, ECONOMICS)
    assert "purchase_usd" not in figures
    assert "monthly_own_usd" not in figures
    assert "monthly_rent_usd" in figures


def test_owning_that_never_pays_back_is_said_so() -> None:
    facts: Facts = {"buy_quote_usd": 30000.0, "rent_quote_usd_h": 0.01, "always_on": True}
    figures = procurement_figures(facts, plan("nvidia-h100-80gb-sxm", 8), ECONOMICS)
    assert "breakeven_months" not in figures
    assert "breakeven_gpu_hours" not in figures
    assert figures["breakeven_within_horizon"].value == 0.0
    assert procurement_facts(figures)["own_cheaper_over_horizon"] is False


def test_what_is_paid_for_costs_its_running_alone_and_nothing_turns_that() -> None:
    facts: Facts = {"task": "inference", "param_count_b": 7.0, "gpus_owned": ("nvidia-rtx-4090",)}
    facts |= {"utilization_pct": 40.0}
    subject = plan("nvidia-rtx-4090", 1, facts)
    figures = procurement_figures(facts, subject, ECONOMICS)
    assert figures["purchase_usd"].value == 0.0
    assert figures["own_cheaper_over_horizon"].value == 1.0
    assert figures["lifetime_cost_usd"].value == pytest.approx(figures["monthly_energy_usd"].value * 36)
    assert nearest_flip(comparison(facts, subject)) is None


def test_a_plan_for_ones_own_place_is_held_against_renting_it_elsewhere() -> None:
    facts: Facts = {"task": "inference", "param_count_b": 7.0, "deployment_site": "workstation"}
    facts |= {"utilization_pct": 40.0}
    figures = procurement_figures(facts, plan("nvidia-rtx-4090", 1, facts), ECONOMICS)
    assert {"lifetime_rent_usd", "lifetime_cost_usd", "breakeven_months"} <= figures.keys()


def test_facts_are_numbers_and_truths() -> None:
    figures = procurement_figures(
        {"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0, "always_on": True}, None, ECONOMICS
    )
    facts = procurement_facts(figures)
    assert facts["own_cheaper_over_horizon"] is True
    assert facts["purchase_usd"] == 2000.0
    assert figures["own_cheaper_over_horizon"].unit == YES_NO


def test_resale_falls_without_a_jump() -> None:
    owning = comparison({"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0, "utilization_pct": 50.0}).owning
    assert owning.share_left(0.0) == 1.0
    assert owning.share_left(4.0) == pytest.approx(0.2)
    assert owning.share_left(3.99) == pytest.approx(owning.share_left(4.01), rel=0.01)
    worthless = replace(owning, residual_share=0.0)
    assert (worthless.share_left(4.0), worthless.years_tied(4.0)) == (0.0, pytest.approx(2.0))


def test_modules_are_bought_by_the_board_or_as_the_card_of_their_family() -> None:
    facts: Facts = {"procurement_wish": "buy"}
    two = procurement_figures(facts, plan("nvidia-h100-80gb-sxm", 2), ECONOMICS)["purchase_usd"]
    assert two.value == pytest.approx(4 * 30_000 / 0.65)
    assert two.inputs["bought_count"] == 4
    gpus = KNOWLEDGE.gpus
    assert owned_form(gpus["nvidia-a100-80gb-sxm"], 2, gpus.values(), ECONOMICS).id == "nvidia-a100-80gb-pcie"
    # The H100 card has three fifths of the module's bandwidth.
    assert owned_form(gpus["nvidia-h100-80gb-sxm"], 2, gpus.values(), ECONOMICS).id == "nvidia-h100-80gb-sxm"
    assert owned_form(gpus["nvidia-h100-80gb-sxm"], 8, gpus.values(), ECONOMICS).id == "nvidia-h100-80gb-sxm"
    assert owned_form(gpus["nvidia-b200"], 1, gpus.values(), ECONOMICS).id == "nvidia-b200"
    assert bought_count(gpus["nvidia-b200"], 1, ECONOMICS) == 8
    assert bought_count(gpus["nvidia-l4"], 3, ECONOMICS) == 3


def test_a_board_that_would_stand_mostly_idle_is_not_compared() -> None:
    always: Facts = {"always_on": True}
    assert not comparison(always, plan("nvidia-b200", 1)).sold
    assert comparison(always, plan("nvidia-b200", 1)).own_usd is None
    assert comparison(always, plan("nvidia-b200", 4)).sold
    assert comparison({**always, "buy_quote_usd": 9000.0}, plan("nvidia-b200", 1)).own_usd is not None
    bill: Facts = {"monthly_cloud_spend_usd": 2000.0, "org_type": "small_team"}
    assert lines(bill, plan("nvidia-b200", 1))["monthly_spend"].in_scope


def test_a_stated_bill_tells_the_hours_that_are_rented() -> None:
    facts: Facts = {"monthly_cloud_spend_usd": 1000.0, "rent_quote_usd_h": 2.0, "buy_quote_usd": 2000.0}
    found = comparison({**facts, "horizon_years": 2.0})
    assert found.rent_usd == pytest.approx(24_000.0)
    assert found.says == "own"


def test_a_bill_for_costlier_hardware_is_no_price_of_this_plan() -> None:
    busy: Facts = {"utilization_pct": 75.0, "horizon_years": 3.0}
    subject = plan("nvidia-l4", 1)
    assert comparison({**busy, "monthly_cloud_spend_usd": 6000.0}, subject).rent_usd == pytest.approx(
        comparison(busy, subject).rent_usd
    )
    assert comparison({**busy, "monthly_cloud_spend_usd": 50.0}, subject).rent_month == 50.0  # Who pays less goes on.
    always = comparison({"always_on": True}, subject)
    assert comparison({"monthly_cloud_spend_usd": 6000.0}, subject).rent_month == pytest.approx(always.rent_month)


def test_where_no_rent_is_known_a_stated_bill_is_what_renting_costs() -> None:
    facts: Facts = {"monthly_cloud_spend_usd": 1000.0, "buy_quote_usd": 2000.0, "always_on": True}
    assert comparison(facts).rent_month == 1000.0
    assert comparison({**facts, "monthly_cloud_spend_usd": 0.0}).bill_month is None


def test_a_quote_is_about_the_gpu_that_was_named() -> None:
    facts: Facts = {"rent_quote_usd_h": 2.0, "gpu_candidates": ("nvidia-l4",), "always_on": True}
    named, other = comparison(facts, plan("nvidia-l4", 1)), comparison(facts, plan("nvidia-rtx-4090", 1))
    assert named.rent is not None
    assert named.rent.value == 2.0
    assert other.rent is not None
    assert "plan.usd_per_hour" in other.rent.inputs  # An offer's price, and not the quote.
    assert other.rent.value != 2.0


def test_owning_the_base_load_has_a_sum_of_its_own() -> None:
    facts: Facts = {"burst_or_datacenter_need": True, "utilization_pct": 40.0, "horizon_years": 3.0}
    found = comparison(facts, plan("nvidia-l4", 8))
    base, share = found.base or (None, 0.0)
    assert base is not None
    assert base.count == 3  # 8 x (40 % - 10 % of peaks) / 90 %, rounded up
    assert 0.8 < share < 1.0
    assert found.hybrid_usd is not None
    assert comparison({**facts, "burst_or_datacenter_need": False}, plan("nvidia-l4", 8)).hybrid_usd is None
    one = comparison(facts, plan("nvidia-l4", 1))
    assert one.hybrid_usd == pytest.approx(one.own_usd)


def test_what_is_owned_is_left_idle_where_renting_costs_less_than_its_running() -> None:
    facts: Facts = {"task": "inference", "param_count_b": 7.0, "gpus_owned": ("nvidia-rtx-4090",)}
    subject = plan("nvidia-rtx-4090", 1, facts)
    assert comparison(facts, subject).says == "own"
    assert comparison({**facts, "rent_quote_usd_h": 0.01}, subject).says == "rent"


def test_a_line_decides_only_inside_what_it_was_drawn_for() -> None:
    busy: Facts = {"utilization_pct": 90.0, "horizon_years": 3.0}
    assert lines(busy, plan("nvidia-l4", 1))["utilization"].in_scope
    assert not lines(busy, plan("nvidia-rtx-4090", 1))["utilization"].in_scope
    assert lines({"utilization_pct": 20.0}, plan("nvidia-rtx-4090", 1))["utilization"].in_scope
    assert lines({"gpu_hours_total": 1000.0}, plan("nvidia-a100-80gb-pcie", 1))["total_hours"].in_scope
    assert not lines({"gpu_hours_total": 1000.0}, plan("nvidia-a100-80gb-pcie", 4))["total_hours"].in_scope
    assert not lines({"gpu_hours_total": 1000.0}, plan("nvidia-l4", 1))["total_hours"].in_scope
    bill: Facts = {"monthly_cloud_spend_usd": 2000.0, "org_type": "enterprise"}
    assert not lines(bill, plan("nvidia-rtx-4090", 1))["monthly_spend"].in_scope
    assert lines({**bill, "org_type": "small_team"}, plan("nvidia-rtx-4090", 1))["monthly_spend"].in_scope


def test_a_line_agrees_with_a_clear_comparison_or_not() -> None:
    facts: Facts = {"utilization_pct": 60.0, "rent_quote_usd_h": 5.0, "buy_quote_usd": 500.0}
    assert lines(facts)["utilization"].agrees is False
    assert lines({**facts, "rent_quote_usd_h": 0.01})["utilization"].agrees is True
    assert lines({"utilization_pct": 60.0})["utilization"].agrees is None


def test_thresholds_of_a_middling_load_disagree() -> None:
    # 4,000 hours a year: own by one guide, rent by another's 70 %, past the 2,600 hours of a third.
    verdicts = says({"gpu_hours_per_year": 4000.0})
    assert verdicts["yearly_hours"] == "own"
    assert verdicts["utilization"] == "rent"
    assert verdicts["total_hours"] == "own"
    assert verdicts["monthly_spend"] == "unknown"
    assert thresholds_disagree(tuple(lines({"gpu_hours_per_year": 4000.0}).values()))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"utilization_pct": 60.0, "horizon_years": 3.0}, "rent"),
        ({"utilization_pct": 75.0, "horizon_years": 3.0}, "undecided"),
        ({"utilization_pct": 85.0, "horizon_years": 3.0}, "own"),
        ({"utilization_pct": 85.0, "horizon_years": 1.0}, "undecided"),
        ({}, "unknown"),
    ],
)
def test_the_threshold_of_utilisation_has_three_bands(facts: Facts, verdict: str) -> None:
    assert says(facts)["utilization"] == verdict


@pytest.mark.parametrize(
    ("facts", "name", "verdict"),
    [
        ({"monthly_cloud_spend_usd": 1200.0}, "monthly_spend", "own"),
        ({"monthly_cloud_spend_usd": 400.0}, "monthly_spend", "rent"),
        ({"gpu_hours_total": 2000.0}, "total_hours", "rent"),
        ({"gpu_hours_total": 3000.0}, "total_hours", "own"),
        ({"gpu_hours_total": 3000.0, "num_gpus": 2}, "total_hours", "rent"),
        ({"utilization_pct": 100.0, "rent_quote_usd_h": 2.0}, "monthly_spend", "own"),
    ],
)
def test_single_thresholds(facts: Facts, name: str, verdict: str) -> None:
    assert says(facts)[name] == verdict


def test_silence_is_no_disagreement() -> None:
    assert not thresholds_disagree(tuple(lines({}).values()))


QUOTES = st.fixed_dictionaries(
    {
        "buy_quote_usd": st.floats(500, 50_000),
        "rent_quote_usd_h": st.floats(0.2, 10),
        "utilization_pct": st.floats(5, 100),
        "horizon_years": st.floats(0.5, 6),
    }
)


@given(QUOTES)
def test_at_a_flip_the_comparison_turns(facts: dict[str, float]) -> None:
    before = comparison(facts)
    for flip in all_flips(before):
        if not 1e-6 < flip.needed < 1e9 or (flip.fact == "utilization_pct" and flip.needed > 100):
            continue
        ratio = comparison({**facts, flip.fact: flip.needed}).ratio
        turned = {"own": 1 / 1.3, "rent": 1.3} if before.says == "even" else {"own": 1.0, "rent": 1.0}
        assert ratio == pytest.approx(turned[flip.verdict], rel=1e-6), flip
    nearest = nearest_flip(before)
    assert nearest is None or nearest.change == min(flip.change for flip in all_flips(before) if flip.needed > 0)


PLANS = st.sampled_from(
    [(gpu, count) for gpu in ("nvidia-l4", "nvidia-rtx-4090", "nvidia-h100-80gb-sxm") for count in (1, 2, 8)]
)
USES = st.fixed_dictionaries(
    {
        "utilization_pct": st.floats(1, 100),
        "horizon_years": st.floats(0.25, 5),
        "deployment_site": st.sampled_from(["cloud", "workstation", "datacenter"]),
    }
)
_MADE: dict[tuple[str, int], Plan] = {}


def made(subject: tuple[str, int]) -> Plan:
    return _MADE.setdefault(subject, plan(*subject))


@given(PLANS, USES)
def test_costs_are_continuous_in_the_horizon(subject: tuple[str, int], facts: dict[str, Any]) -> None:
    one = comparison(facts, made(subject))
    other = comparison({**facts, "horizon_years": facts["horizon_years"] * 1.01}, made(subject))
    for before, after in ((one.own_usd, other.own_usd), (one.rent_usd, other.rent_usd)):
        if before is not None and after is not None:
            assert before <= after <= before * 1.02


@given(PLANS, USES)
def test_owning_never_comes_to_many_times_the_purchase(subject: tuple[str, int], facts: dict[str, Any]) -> None:
    found = comparison(facts, made(subject))
    if found.own_usd is None or found.owning.purchase is None:
        assert not found.sold
        return
    assert found.own_usd <= 5 * found.owning.purchase.value


@given(PLANS, USES)
def test_an_hour_of_bought_hardware_is_the_sum_over_its_hours(subject: tuple[str, int], facts: dict[str, Any]) -> None:
    facts = {**facts, "task": "inference", "param_count_b": 7.0, "procurement_wish": "buy"}
    bought = plan(*subject, facts)
    assert bought.cost.origin == "purchase"
    found = comparison(facts, bought)
    assert bought.cost.usd_per_hour == pytest.approx(found.own_usd_per_hour)
    assert bought.cost.usd_per_hour * 8760 * facts["horizon_years"] == pytest.approx(found.own_usd)
    if found.busy_share:
        assert found.own_usd_per_busy_hour * found.busy_share == pytest.approx(found.own_usd_per_hour)


@given(PLANS, USES)
def test_entries_add_up_to_the_sums_and_the_course_ends_in_them(
    subject: tuple[str, int], facts: dict[str, Any]
) -> None:
    found = comparison(facts, made(subject))
    entries = [(side, entry.value) for side, entry in comparison_entries(found)]
    for side, total in (("own", found.own_usd), ("rent", found.rent_usd)):
        if total is not None:
            assert sum(value for name, value in entries if name == side) == pytest.approx(total)
    at_horizon = [point for point in found.course() if point[0] == pytest.approx(facts["horizon_years"] * 12)]
    assert not found.course() or at_horizon[0][1:] == (pytest.approx(found.rent_usd), pytest.approx(found.own_usd))


@given(QUOTES, st.floats(1.01, 3))
def test_costlier_rent_never_speaks_for_renting(facts: dict[str, float], factor: float) -> None:
    def own(changed: dict[str, float]) -> float:
        return procurement_figures(changed, None, ECONOMICS)["own_cheaper_over_horizon"].value

    assert own({**facts, "rent_quote_usd_h": facts["rent_quote_usd_h"] * factor}) >= own(facts)
    assert own({**facts, "buy_quote_usd": facts["buy_quote_usd"] * factor}) <= own(facts)


def test_without_a_rent_there_is_nothing_to_turn() -> None:
    assert nearest_flip(comparison({"buy_quote_usd": 2000.0})) is None


@given(QUOTES, PLANS)
def test_where_use_is_not_known_the_flip_tells_from_which_use_on_owning_costs_less(
    stated: dict[str, float], subject: tuple[str, int]
) -> None:
    facts: Facts = {"task": "inference", "param_count_b": 7.0, "deployment_site": "datacenter"}
    facts |= {name: value for name, value in stated.items() if name != "utilization_pct"}
    bought = plan(*subject, facts)
    flip = nearest_flip(comparison(facts, bought))
    if flip is None:  # Renting costs less however busy it is.
        ratio = comparison({**facts, "utilization_pct": 100.0}, bought).ratio
        assert ratio is None or ratio > 1
        return
    assert (flip.fact, flip.now, flip.verdict) == ("utilization_pct", None, "own")
    assert comparison({**facts, "utilization_pct": flip.needed}, bought).ratio == pytest.approx(1.0, rel=1e-6)


def test_hours_that_were_stated_as_gpu_hours_flip_as_gpu_hours() -> None:
    facts: Facts = {"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0, "gpu_hours_per_year": 100.0, "horizon_years": 3.0}
    found = comparison(facts)
    flips = {flip.fact: flip for flip in all_flips(found)}
    assert found.says == "rent"
    assert comparison({**facts, "gpu_hours_per_year": flips["gpu_hours_per_year"].needed}).ratio == pytest.approx(1.0)


def test_a_broken_constant_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "economics.yaml").write_text(
        "class_tiers: {}\nper_gpu_list_price: {classes: [], because: x}\nareas: {}\n"
        "price_choice: {lowest_providers: 3, idle_share_below: 0.5, source: x, because: x}\n"
        "clusters: {providers: [], least_gpus: 4, because: x}\n"
        "lesser_shapes: {instances: {}, because: x}\n"
        "providers_also_called: {}\nthresholds: {}\nconstants:\n  pue: {value: 3, low: 1, high: 2, source: x}\n"
    )
    with pytest.raises(KnowledgeError, match="3 lies outside its band, 1 to 2"):
        load_economics(tmp_path)
