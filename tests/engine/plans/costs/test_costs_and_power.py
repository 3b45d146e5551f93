from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.catalogue.model import Gpu, Offer
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.cost import cost_row
from whichgpu.engine.plans.costs.hardware import Hardware, hardware_of
from whichgpu.engine.plans.costs.monthly import rental_duty
from whichgpu.engine.plans.costs.offers import OfferIndex
from whichgpu.engine.plans.costs.ownership import ownership_of, planning_years
from whichgpu.engine.plans.costs.power import at_desk, kwh_price, paid_power_w, plan_power_w, pue
from whichgpu.engine.plans.costs.provenance import cost_provenance
from whichgpu.engine.plans.costs.spending import count_owned, owned_gpus, spending_of
from whichgpu.engine.plans.costs.usage import usage_of
from whichgpu.engine.plans.model import Cost


ECONOMICS = load_economics()
GPUS = load_knowledge().gpus
H100, RTX4090, L4 = GPUS["nvidia-h100-80gb-sxm"], GPUS["nvidia-rtx-4090"], GPUS["nvidia-l4"]
OFFER = Offer(
    provider="aws",
    provider_class="hyperscaler",
    instance="p5",
    gpu=H100.id,
    count=8,
    usd_per_hour=40.0,
    as_of="2026-07-20",
    source="test",
)
INDEX = OfferIndex([OFFER], ECONOMICS)


def cost(gpu: Gpu, count: int, facts: Facts, **numbers: float) -> Cost:
    linked = count > gpu.node_gpus > 1
    return cost_row(gpu, count, spending_of(facts, ECONOMICS), INDEX, together=count, linked=linked, **numbers).cost(0)


def hardware(gpu: Gpu) -> Hardware:
    return hardware_of(gpu, ECONOMICS)


def test_an_offer_gives_all_four_prices() -> None:
    found = cost(H100, 8, {}, tokens_per_s=1000.0, hours=10.0)
    assert found.origin == "offer"
    assert found.offer == OFFER
    assert found.usd_per_hour == 40.0
    assert found.usd_per_month == pytest.approx(40.0 * 730)
    assert found.usd_per_run == pytest.approx(40.0 * (10.0 + ECONOMICS["run_setup_hours"].value))
    assert found.usd_per_1m_tokens == pytest.approx(40.0 / 3.6)


def test_the_length_of_a_run_may_be_stated() -> None:
    set_up = ECONOMICS["run_setup_hours"].value
    assert cost(H100, 8, {"run_hours": 5.0}).usd_per_run == pytest.approx(40.0 * (5.0 + set_up))
    assert cost(H100, 8, {}).usd_per_run is None
    assert cost(H100, 8, {}).usd_per_1m_tokens is None


def test_no_offer_means_no_cost() -> None:
    assert cost(L4, 1, {}) == Cost()


def test_a_quote_is_about_the_gpus_that_were_named() -> None:
    facts: Facts = {"rent_quote_usd_h": 2.0, "gpu_candidates": (H100.family,)}
    assert cost(H100, 4, facts).usd_per_hour == 8.0
    assert cost(H100, 4, facts).origin == "quote"
    assert cost(L4, 1, facts).origin == "none"
    assert cost(H100, 8, {"rent_quote_usd_h": 2.0}).origin == "offer"
    assert cost(L4, 1, {"rent_quote_usd_h": 0.5, "current_gpu": L4.id}).usd_per_hour == 0.5


def test_owned_hardware_costs_its_power() -> None:
    facts: Facts = {"gpus_owned": ("nvidia-rtx-4090 x2",), "electricity_usd_kwh": 0.2, "deployment_site": "workstation"}
    owned = cost(RTX4090, 2, facts)
    assert owned.origin == "owned"
    watts = 2 * RTX4090.tdp_w + 150
    assert owned.usd_per_hour == pytest.approx(watts / 1000 * 0.2)
    assert cost(RTX4090, 3, facts).origin == "purchase"
    no_power = replace(RTX4090, tdp_w=None)
    assert cost(no_power, 1, facts) == Cost(origin="owned")


def test_hardware_for_ones_own_place_costs_its_share_of_the_purchase() -> None:
    facts: Facts = {"deployment_site": "workstation", "electricity_usd_kwh": 0.2, "current_gpu": "nvidia-l4"}
    bought = cost(RTX4090, 1, facts)
    assert bought.origin == "purchase"
    owning = ownership_of(RTX4090, 1, facts, ECONOMICS)
    assert bought.usd_per_hour == pytest.approx(owning.total(3.0, 730.0) / (3 * 8760))
    lost = RTX4090.buy_usd * (1 - 0.2**0.75) / (3 * 8760)
    assert bought.usd_per_hour > lost + (RTX4090.tdp_w + 150) / 1000 * 0.2
    assert cost(RTX4090, 1, {"procurement_wish": "buy"}).origin == "purchase"
    idle = cost(RTX4090, 1, {**facts, "utilization_pct": 10.0})
    power = (RTX4090.tdp_w + 150) / 1000 * 0.2 * 730
    assert idle.usd_per_month == pytest.approx(bought.usd_per_month - 0.9 * power)
    unpriced = replace(H100, buy_usd=None)
    # At one's own place nothing is rented.
    assert cost(unpriced, 8, {"deployment_site": "datacenter"}).origin == "none"
    assert cost(H100, 8, {"deployment_site": "cloud"}).origin == "offer"
    assert cost(H100, 8, {"deployment_site": "datacenter", "procurement_wish": "rent"}).origin == "offer"


def test_a_run_on_bought_hardware_pays_for_the_hours_between_two_runs() -> None:
    here: Facts = {"deployment_site": "workstation"}
    unsaid = cost(RTX4090, 1, here, hours=5.0, tokens_per_s=1000.0)
    assert unsaid.usd_per_run == pytest.approx(unsaid.usd_per_month)  # One run a month.
    long = cost(RTX4090, 1, here, hours=2000.0)
    assert long.usd_per_run == pytest.approx(long.usd_per_hour * 2000)
    half = cost(RTX4090, 1, {**here, "utilization_pct": 50.0}, hours=5.0, tokens_per_s=1000.0)
    assert half.usd_per_run == pytest.approx(half.usd_per_hour * 5 / 0.5)
    assert half.usd_per_1m_tokens == pytest.approx(half.usd_per_hour / 3.6 / 0.5)
    daily = cost(RTX4090, 1, {**here, "runs_cadence": "daily"}, hours=5.0)
    assert daily.usd_per_run == pytest.approx(daily.usd_per_hour * 24)
    # A bill for renting does not say how often the run comes.
    assert cost(RTX4090, 1, {**here, "monthly_cloud_spend_usd": 900.0}, hours=5.0).usd_per_run == unsaid.usd_per_run


def test_what_stands_at_home_is_held_against_what_it_would_rent_for() -> None:
    bought = cost(H100, 8, {"deployment_site": "datacenter"})
    assert (bought.origin, bought.offer, bought.rented_from, bought.rented_usd_per_hour) == (
        "purchase",
        None,
        OFFER,
        40.0,
    )
    assert cost(H100, 8, {"gpus_owned": (f"{H100.id} x8",)}).rented_usd_per_hour == 40.0
    assert cost(L4, 1, {"deployment_site": "workstation"}).rented_from is None
    rented = cost(H100, 8, {"deployment_site": "cloud"})
    assert (rented.offer, rented.rented_from) == (OFFER, None)


@pytest.mark.parametrize(
    ("facts", "formula", "source", "inputs"),
    [
        ({"deployment_site": "cloud"}, "aws (1 x p5 with 8 GPUs, 2026-07-20)", "test", {"plan.count": 8}),
        (
            {"rent_quote_usd_h": 2.0, "gpu_candidates": (H100.id,)},
            "quote per GPU-hour",
            "stated: rent_quote_usd_h",
            {"rent_quote_usd_h": 2.0},
        ),
        ({"gpus_owned": (f"{H100.id} x8",)}, "kW x PUE", "stated: gpus_owned", {"plan.count": 8}),
        ({"deployment_site": "datacenter"}, "less resale, + capital", "residual_share: ", {"depreciation_years": 4.0}),
    ],
)
def test_an_hour_says_how_its_price_came_about(facts: Facts, formula: str, source: str, inputs: Facts) -> None:
    found = cost_provenance(cost(H100, 8, facts), H100, 8, facts)["cost.usd_per_hour"]
    assert found.value == cost(H100, 8, facts).usd_per_hour
    assert formula in found.formula
    assert source in found.source
    assert inputs.items() <= found.inputs.items()


def test_without_a_price_nothing_is_said_of_it() -> None:
    assert cost_provenance(Cost(), L4, 1, {}) == {}


@pytest.mark.parametrize(
    ("entry", "name", "count"),
    [
        ("nvidia-rtx-4090 x2", "nvidia-rtx-4090", 2),
        ("2 x RTX 4090", "rtx 4090", 2),
        ("2x nvidia-l4", "nvidia-l4", 2),
        ("nvidia-l4:4", "nvidia-l4", 4),
        ("nvidia-l4 = 3", "nvidia-l4", 3),
        ("nvidia-l4", "nvidia-l4", 1),
        ("amd-mi300x", "amd-mi300x", 1),
        ("8 x amd-mi300x", "amd-mi300x", 8),
    ],
)
def test_owned_gpus_are_read_in_any_usual_spelling(entry: str, name: str, count: int) -> None:
    assert owned_gpus({"gpus_owned": (entry,)}) == {name: count}


def test_owned_gpus_add_up_and_are_found_by_family_and_alias() -> None:
    assert owned_gpus({"gpus_owned": ("nvidia-l4", "nvidia-l4 x2")}) == {"nvidia-l4": 3}
    assert owned_gpus({}) == {}
    assert count_owned(H100, {H100.family: 8}) == 8
    assert count_owned(RTX4090, {"4090": 1}) == 1
    assert count_owned(H100, {"nvidia-l4": 1}) == 0


@pytest.mark.parametrize(
    ("facts", "duty"),
    [
        ({}, 1.0),
        ({"always_on": True, "utilization_pct": 20.0}, 1.0),
        ({"utilization_pct": 20.0}, 0.2),
        ({"gpu_hours_per_year": 8760.0}, 0.125),
        ({"runs_cadence": "daily", "run_hours": 6.0}, 0.25),
    ],
)
def test_the_share_of_the_month_that_is_paid(facts: Facts, duty: float) -> None:
    assert rental_duty(facts, 8, ECONOMICS) == pytest.approx(duty)
    assert cost(H100, 8, facts).usd_per_month == pytest.approx(40.0 * 730 * duty)


@pytest.mark.parametrize(
    ("facts", "hours"),
    [
        ({"gpu_hours_per_year": 4000.0, "utilization_pct": 90.0}, 2000.0),
        ({"utilization_pct": 50.0}, 4380.0),
        ({"always_on": True}, 8760.0),
        ({"gpu_hours_total": 6000.0, "project_months": 18.0}, 2000.0),
        ({"gpu_hours_total": 6000.0, "horizon_years": 3.0}, 1000.0),
        ({"runs_cadence": "continuous"}, 8760.0),
        ({"runs_cadence": "weekly", "run_hours": 24.0}, 1248.0),
        ({"runs_cadence": "sporadic", "run_hours": 10.0}, 120.0),
        ({"runs_cadence": "one_off", "run_hours": 300.0}, 300.0),
        ({"runs_cadence": "daily", "run_hours": 40.0}, 8760.0),
        ({"monthly_cloud_spend_usd": 1000.0}, 3000.0),
    ],
)
def test_busy_hours_a_year_from_what_was_said(facts: Facts, hours: float) -> None:
    usage = usage_of(facts, 2, ECONOMICS, rent_usd_h=2.0)
    assert usage is not None
    assert usage.hours_per_year == pytest.approx(hours)
    assert usage.inputs
    assert usage.formula


@pytest.mark.parametrize("facts", [{}, {"runs_cadence": "weekly"}, {"gpu_hours_total": 100.0}, {"run_hours": 3.0}])
def test_without_hours_nothing_is_invented(facts: Facts) -> None:
    assert usage_of(facts, 1, ECONOMICS) is None


def test_power_counts_the_machine_around_the_gpus() -> None:
    assert plan_power_w(hardware(H100), 8, ECONOMICS) == pytest.approx(8 * 700 * 1.8)
    assert plan_power_w(hardware(L4), 4, ECONOMICS) == pytest.approx(4 * L4.tdp_w + 450)
    assert plan_power_w(hardware(L4), 16, ECONOMICS) == pytest.approx(16 * L4.tdp_w + 900)
    jetson = GPUS["nvidia-jetson-agx-orin-64gb"]
    assert plan_power_w(hardware(jetson), 1, ECONOMICS) == jetson.tdp_w
    assert math.isnan(plan_power_w(hardware(replace(L4, tdp_w=None)), 1, ECONOMICS))


def test_an_owner_pays_for_a_share_of_a_server_and_for_a_workstation_whole() -> None:
    assert paid_power_w(hardware(L4), 1, desk=False, constants=ECONOMICS) == pytest.approx(L4.tdp_w + 450 / 8)
    assert paid_power_w(hardware(RTX4090), 1, desk=True, constants=ECONOMICS) == pytest.approx(RTX4090.tdp_w + 150)
    assert paid_power_w(hardware(H100), 4, desk=False, constants=ECONOMICS) == pytest.approx(4 * 700 * 1.8)
    assert math.isnan(paid_power_w(hardware(replace(L4, tdp_w=None)), 1, desk=False, constants=ECONOMICS))


def test_owned_servers_cost_their_power_whoever_looks_after_them() -> None:
    facts: Facts = {"gpus_owned": (f"{H100.id} x8",)}
    alone, staffed = cost(H100, 8, facts), cost(H100, 8, {**facts, "has_ops_team": True})
    assert alone.usd_per_hour == staffed.usd_per_hour == pytest.approx(8 * 0.7 * 1.8 * 1.54 * 0.146)


def test_where_owned_hardware_stands() -> None:
    assert at_desk(hardware(RTX4090), 2, {})
    assert not at_desk(hardware(RTX4090), 8, {})
    assert not at_desk(hardware(RTX4090), 1, {"deployment_site": "datacenter"})
    assert at_desk(hardware(RTX4090), 8, {"deployment_site": "workstation"})
    assert not at_desk(hardware(H100), 1, {})


def test_what_others_ask_at_any_hour_stands_in_a_rack() -> None:
    service: Facts = {"task": "inference"}
    assert not at_desk(hardware(RTX4090), 1, service)
    assert at_desk(hardware(RTX4090), 1, {**service, "org_type": "small_team"})
    assert at_desk(hardware(RTX4090), 1, {**service, "serving_mode": "batch"})
    assert at_desk(hardware(RTX4090), 1, {**service, "deployment_site": "workstation"})
    assert at_desk(hardware(RTX4090), 1, service, owned=True)
    assert at_desk(hardware(RTX4090), 1, {"task": "peft_finetuning", "org_type": "enterprise"})


def test_demand_that_may_not_last_is_planned_for_the_short_end_of_the_usual_horizon() -> None:
    usual = ECONOMICS["horizon_years"]
    assert planning_years({}, ECONOMICS) == (usual.value, False)
    assert planning_years({"demand_predictable": True}, ECONOMICS) == (usual.value, False)
    assert planning_years({"demand_predictable": False}, ECONOMICS) == (usual.low, False)
    assert planning_years({"demand_predictable": False, "horizon_years": 4}, ECONOMICS) == (4, True)
    assert planning_years({"demand_predictable": False, "project_months": 6}, ECONOMICS) == (0.5, True)


def test_cards_that_are_there_stand_where_they_stand_however_many_are_used() -> None:
    """The fifth card of eight moves none of them to a rack, whose power costs more."""
    eight: Facts = {"gpus_owned": (f"{RTX4090.id} x8",)}
    kwh = kwh_price({}, desk=True, constants=ECONOMICS).value
    for count in (1, 4, 5, 8):
        hour = (count * RTX4090.tdp_w + 150) / 1000 * kwh
        assert cost(RTX4090, count, eight).usd_per_hour == pytest.approx(hour)
        owning = ownership_of(RTX4090, count, eight, ECONOMICS, owned=True)
        assert owning.busy_energy_usd_h * count == pytest.approx(hour)
    in_a_rack = cost(RTX4090, 4, {**eight, "deployment_site": "datacenter"})
    assert in_a_rack.usd_per_hour > cost(RTX4090, 4, eight).usd_per_hour


def test_energy_follows_tariff_and_cooling() -> None:
    def hour(facts: Facts, *, desk: bool = False) -> float:
        rate = kwh_price(facts, desk=desk, constants=ECONOMICS).value
        return rate * pue(facts, desk=desk, constants=ECONOMICS).value

    assert hour({}) == pytest.approx(1.54 * 0.146)
    assert hour({"cooling": "liquid"}) == pytest.approx(1.15 * 0.146)
    assert hour({"cooling": "air", "electricity_usd_kwh": 0.1}) == pytest.approx(0.14)
    assert hour({"pue": 1.2}) == pytest.approx(1.2 * 0.146)
    assert hour({}, desk=True) == pytest.approx(0.1872)
