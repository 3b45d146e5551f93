from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.economics.constants import load_economics
from engine.economics.ledger import ledger_of
from engine.economics.procurement import YES_NO
from engine.economics.procurement import all_flips
from engine.economics.procurement import nearest_flip
from engine.economics.procurement import procurement_facts
from engine.economics.procurement import procurement_figures
from engine.economics.thresholds import guide_thresholds
from engine.economics.thresholds import thresholds_disagree
from engine.knowledge import load_knowledge
from engine.plans.maker import PlanMaker
from engine.plans.model import Plan
from engine.problems import KnowledgeError
from engine.sizing.intake import job_from_facts
from engine.values import Facts


ECONOMICS = load_economics()
KNOWLEDGE = load_knowledge()


def plan(gpu: str, count: int, facts: Facts | None = None) -> Plan:
    facts = facts or {"task": "inference", "param_count_b": 7.0}
    return PlanMaker(job_from_facts(facts, None), facts, KNOWLEDGE).plan(KNOWLEDGE.gpus[gpu], count, "test")


def says(facts: Facts, subject: Plan | None = None) -> dict[str, str]:
    ledger = ledger_of(facts, subject, ECONOMICS)
    return {threshold.id: threshold.says for threshold in guide_thresholds(facts, ledger, ECONOMICS)}


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
    watts = KNOWLEDGE.gpus["nvidia-rtx-4090"].tdp_w + 450
    assert figures["breakeven_gpu_hours"].value == pytest.approx(2000.0 / (2.0 - watts / 1000 * 0.5))


def test_the_figures_of_a_used_workstation_agree_with_each_other() -> None:
    facts: Facts = {"utilization_pct": 80.0, "horizon_years": 3.0, "rent_quote_usd_h": 0.6}
    figures = procurement_figures(facts, plan("nvidia-rtx-4090", 1), ECONOMICS)
    value = {name: figure.value for name, figure in figures.items()}
    assert value["monthly_rent_usd"] == pytest.approx(0.6 * 0.8 * 730)
    assert value["lifetime_rent_usd"] == pytest.approx(36 * value["monthly_rent_usd"])
    assert value["monthly_own_usd"] == pytest.approx(value["monthly_depreciation_usd"] + value["monthly_energy_usd"])
    running = value["monthly_own_usd"] - value["monthly_depreciation_usd"]
    assert value["breakeven_months"] == pytest.approx(value["purchase_usd"] / (value["monthly_rent_usd"] - running))
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
    assert figures["staff_cost_usd"].value == pytest.approx(4500 * 36)
    ledger = ledger_of({"always_on": True}, eight, ECONOMICS)
    assert ledger.space_month == pytest.approx(8 * 700 * 1.8 / 1000 * 194.95)
    assert ledger.maintenance_month == pytest.approx(0.05 / 12 * figures["purchase_usd"].value)
    stated = ledger_of({"always_on": True, "staff_cost_usd": 36_000.0}, eight, ECONOMICS)
    assert stated.staff_month == pytest.approx(1000.0)


def test_a_host_is_bought_with_the_card_unless_there_is_one() -> None:
    card = plan("nvidia-rtx-4090", 1)
    with_host = procurement_figures({}, card, ECONOMICS)["purchase_usd"].value
    alone = procurement_figures({"current_gpu": "nvidia-rtx-3090"}, card, ECONOMICS)["purchase_usd"].value
    assert with_host - alone == pytest.approx(1500.0)


def test_without_a_price_there_is_no_purchase() -> None:
    card = plan("nvidia-rtx-4090", 1)
    unpriced = replace(
        card, gpu=card.gpu.model_copy(update={"buy_usd": None, "buy_low_usd": None, "buy_high_usd": None})
    )
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
    assert nearest_flip(facts, subject, ECONOMICS) is None


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


def test_resale_counts_only_after_the_years_of_depreciation() -> None:
    facts: Facts = {"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0, "utilization_pct": 50.0}
    short = ledger_of({**facts, "horizon_years": 3.0}, None, ECONOMICS)
    long = ledger_of({**facts, "horizon_years": 4.0}, None, ECONOMICS)
    assert short.resale == 0.0
    assert long.resale == pytest.approx(400.0)
    assert ledger_of(
        {**facts, "horizon_years": 3.0, "depreciation_years": 3.0}, None, ECONOMICS
    ).resale == pytest.approx(400.0)


def test_thresholds_of_a_middling_load_disagree() -> None:
    # 4,000 hours a year: own by one guide, rent by another's 70 %, past the 2,600 hours of a third.
    verdicts = says({"gpu_hours_per_year": 4000.0})
    assert verdicts["yearly_hours"] == "own"
    assert verdicts["utilization"] == "rent"
    assert verdicts["total_hours"] == "own"
    assert verdicts["monthly_spend"] == "unknown"
    thresholds = guide_thresholds({}, ledger_of({"gpu_hours_per_year": 4000.0}, None, ECONOMICS), ECONOMICS)
    assert thresholds_disagree(thresholds)


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
    assert not thresholds_disagree(guide_thresholds({}, ledger_of({}, None, ECONOMICS), ECONOMICS))


QUOTES = st.fixed_dictionaries(
    {
        "buy_quote_usd": st.floats(500, 50_000),
        "rent_quote_usd_h": st.floats(0.2, 10),
        "utilization_pct": st.floats(5, 100),
        "horizon_years": st.floats(0.5, 6),
    }
)


@given(QUOTES)
def test_beyond_a_flip_the_verdict_turns(facts: dict[str, float]) -> None:
    ledger = ledger_of(facts, None, ECONOMICS)
    before = procurement_figures(facts, None, ECONOMICS)["own_cheaper_over_horizon"].value
    for flip in all_flips(ledger):
        if not 1e-6 < flip.needed < 1e9 or abs(flip.change) < 1e-6:
            continue
        assert flip.verdict == ("rent" if before else "own")
        past = flip.needed + (flip.needed - flip.now) * 1e-3
        if flip.fact == "utilization_pct" and past > 100:
            continue
        changed = procurement_figures({**facts, flip.fact: past}, None, ECONOMICS)["own_cheaper_over_horizon"].value
        if flip.fact != "horizon_years" or (ledger.resale == 0 and past < ledger.depreciation_years):
            assert changed != before, flip
    nearest = nearest_flip(facts, None, ECONOMICS)
    assert nearest is None or nearest.change == min(flip.change for flip in all_flips(ledger) if flip.needed > 0)


@given(QUOTES, st.floats(1.01, 3))
def test_dearer_rent_never_speaks_for_renting(facts: dict[str, float], factor: float) -> None:
    def own(changed: dict[str, float]) -> float:
        return procurement_figures(changed, None, ECONOMICS)["own_cheaper_over_horizon"].value

    assert own({**facts, "rent_quote_usd_h": facts["rent_quote_usd_h"] * factor}) >= own(facts)
    assert own({**facts, "buy_quote_usd": facts["buy_quote_usd"] * factor}) <= own(facts)


def test_no_verdict_has_no_flip() -> None:
    assert nearest_flip({"buy_quote_usd": 2000.0}, None, ECONOMICS) is None


def test_hours_that_were_stated_as_gpu_hours_flip_as_gpu_hours() -> None:
    facts: Facts = {"buy_quote_usd": 2000.0, "rent_quote_usd_h": 2.0, "gpu_hours_per_year": 300.0, "horizon_years": 3.0}
    flips = {flip.fact: flip for flip in all_flips(ledger_of(facts, None, ECONOMICS))}
    assert flips["gpu_hours_per_year"].needed == pytest.approx(2000.0 / 2.0 / 3)


def test_a_broken_constant_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "economics.yaml").write_text(
        "class_tiers: {}\nper_gpu_list_price: {classes: [], because: x}\nareas: {}\n"
        "price_choice: {lowest_providers: 3, idle_share_below: 0.5, source: x, because: x}\n"
        "clusters: {providers: [], because: x}\n"
        "lesser_shapes: {instances: {}, because: x}\n"
        "providers_also_called: {}\nthresholds: {}\nconstants:\n  pue: {value: 3, low: 1, high: 2, source: x}\n"
    )
    with pytest.raises(KnowledgeError, match="3 lies outside its band, 1 to 2"):
        load_economics(tmp_path)
