"""Costs of many plans at once: each row is what the plan costs alone, whatever stands beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts, Value
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.cost import ORIGINS, CostColumns, cost_columns, cost_row, known
from whichgpu.engine.plans.costs.model import Cost
from whichgpu.engine.plans.costs.offers import offer_index
from whichgpu.engine.plans.costs.ownership import ownership_of
from whichgpu.engine.plans.costs.rental_wishes import wishes_from_facts
from whichgpu.engine.plans.costs.spending import spending_of
from whichgpu.engine.sizing import GpuTable


ECONOMICS = load_economics()
KNOWLEDGE = load_knowledge()
GPUS = tuple(KNOWLEDGE.gpus.values())
TABLE = GpuTable(GPUS)
OFFERS = offer_index(KNOWLEDGE, ECONOMICS)
FIGURES = CostColumns._fields[: CostColumns._fields.index("origin")]

SAID: dict[str, st.SearchStrategy[Value]] = {
    "deployment_site": st.sampled_from(["cloud", "workstation", "edge", "datacenter"]),
    "procurement_wish": st.sampled_from(["rent", "buy", "hybrid"]),
    "gpus_owned": st.sampled_from([("nvidia-h100-80gb-sxm x8",), ("nvidia-rtx-4090 x2", "nvidia-l4 x4")]),
    "gpu_candidates": st.sampled_from([("nvidia-h100-80gb",), ("nvidia-l4", "nvidia-rtx-4090")]),
    "current_gpu": st.just("nvidia-l4"),
    "rent_quote_usd_h": st.sampled_from([0.0, 1.5]),
    "buy_quote_usd": st.sampled_from([0.0, 1800.0]),
    "utilization_pct": st.sampled_from([10.0, 100.0]),
    "gpu_hours_per_year": st.sampled_from([500.0, 20_000.0]),
    "gpu_hours_total": st.just(9000.0),
    "monthly_cloud_spend_usd": st.sampled_from([0.0, 800.0]),
    "always_on": st.booleans(),
    "runs_cadence": st.sampled_from(["daily", "weekly", "continuous"]),
    "run_hours": st.just(8.0),
    "horizon_years": st.sampled_from([1.0, 5.0]),
    "has_ops_team": st.booleans(),
    "staff_cost_usd": st.just(36_000.0),
    "interruptible": st.booleans(),
    "regions_allowed": st.just(("eu",)),
}
SOME_FACTS = st.fixed_dictionaries({}, optional=SAID)
#: GPU, count, how many share a machine, whether linked, tokens per second, hours of a run.
PLANS = st.tuples(
    st.one_of(
        st.integers(0, len(GPUS) - 1),
        st.sampled_from([TABLE.position[name] for name in ("nvidia-h100-80gb-sxm", "nvidia-l4", "nvidia-rtx-4090")]),
    ),
    st.integers(1, 40),
    st.integers(1, 16),
    st.booleans(),
    st.sampled_from([np.nan, 0.0, 2500.0]),
    st.sampled_from([np.nan, 0.0, 12.5]),
)


@given(SOME_FACTS, st.lists(PLANS, min_size=1, max_size=8))
def test_a_row_does_not_hang_on_the_other_rows(
    facts: Facts, plans: list[tuple[int, int, int, bool, float, float]]
) -> None:
    spending, index = spending_of(facts, ECONOMICS), OFFERS.narrowed(wishes_from_facts(facts))
    which, counts, together, linked, tokens, hours = map(np.array, zip(*plans, strict=True))
    columns = cost_columns(
        TABLE,
        which,
        counts,
        spending,
        index,
        together=together,
        linked=linked,
        tokens_per_s=tokens,
        samples_per_s=tokens / 10,
        hours=hours,
    )
    for row, (place, count, shared, joined, speed, wall) in enumerate(plans):
        alone = cost_row(
            GPUS[place],
            count,
            spending,
            index,
            together=shared,
            linked=joined,
            tokens_per_s=speed,
            samples_per_s=speed / 10,
            hours=wall,
        )
        cost = columns.cost(row)
        assert cost == alone.cost(0)
        for name in FIGURES:
            assert getattr(cost, name) == known(getattr(columns, name), row)
        assert known(columns.power_w, row) == known(alone.power_w, 0)
        assert cost.origin == ORIGINS[columns.origin[row]]
        assert (cost.quotes, cost.assumed, cost.instances or 0) == (
            columns.quotes[row],
            columns.assumed[row],
            columns.instances[row],
        )
        if cost.origin in {"owned", "purchase"} and cost.usd_per_hour is not None:
            assert cost.offer is None
            rental = index.rental(GPUS[place], count, shared, linked=joined, interruptible=spending.interruptible)
            assert cost.rented_usd_per_hour == (rental.usd_per_hour if rental else None)


@pytest.mark.parametrize(
    ("site", "power"), [("workstation", 150.0), ("datacenter", 450 / 8)], ids=["a desk", "a share of a server"]
)
def test_rates_of_many_plans_are_those_of_each(site: str, power: float) -> None:
    facts: Facts = {"deployment_site": site, "utilization_pct": 40.0}
    which = np.array([TABLE.position["nvidia-l4"]] * 3)
    counts = np.array([1, 2, 5])
    columns = cost_columns(
        TABLE, which, counts, spending_of(facts, ECONOMICS), OFFERS, together=counts, linked=np.zeros(3, bool)
    )
    for row, count in enumerate(counts.tolist()):
        owning = ownership_of(GPUS[which[row]], count, facts, ECONOMICS)
        assert columns.usd_per_hour[row] == owning.total(3.0, 8760 * 0.4 / 12 * count) / (3.0 * 8760)
    assert ownership_of(GPUS[which[0]], 1, facts, ECONOMICS).power_w == GPUS[which[0]].tdp_w + power


def test_a_gpu_that_nobody_rents_out_has_no_price() -> None:
    unknown = replace(GPUS[0], id="unheard-of", family="unheard-of", tdp_w=None)
    alone = cost_row(unknown, 1, spending_of({}, ECONOMICS), OFFERS, together=1, linked=False, hours=3.0)
    assert alone.cost(0) == Cost()
    assert known(alone.power_w, 0) is None


def test_what_has_no_price_to_buy_has_none_at_ones_own_place() -> None:
    unsold = replace(KNOWLEDGE.gpus["nvidia-l4"], buy_usd=None)
    rented, bought = (
        cost_row(unsold, 1, spending_of(facts, ECONOMICS), OFFERS, together=1, linked=False, hours=3.0).cost(0)
        for facts in ({}, {"deployment_site": "datacenter"})
    )
    assert rented.origin == "offer"
    assert (bought.origin, bought.usd_per_hour, bought.usd_per_run) == ("none", None, None)


def test_no_plans_have_no_costs() -> None:
    facts: Facts = {"rent_quote_usd_h": 2.0, "gpu_candidates": ("nvidia-l4",), "gpus_owned": ("nvidia-l4",)}
    none = np.zeros(0, np.int64)
    spending = spending_of(facts, ECONOMICS)
    assert not len(cost_columns(TABLE, none, none, spending, OFFERS, together=none, linked=none > 0).usd_per_hour)


def test_the_price_of_bought_gpus_counts_whole_boards_and_no_machine() -> None:
    buying: Facts = {"deployment_site": "datacenter", "buy_quote_usd": 1800.0, "gpu_candidates": ("nvidia-l4",)}
    which = np.array([TABLE.position[name] for name in ("nvidia-h100-80gb-sxm", "nvidia-l4")])
    counts, apart = np.array([6, 3]), np.zeros(2, np.bool_)
    paid = cost_columns(TABLE, which, counts, spending_of(buying, ECONOMICS), OFFERS, together=counts, linked=apart)
    module = GPUS[which[0]].buy_usd
    assert module is not None
    assert paid.gpus_usd.tolist() == [8 * module, 3 * 1800.0]
    rented = cost_columns(TABLE, which, counts, spending_of({}, ECONOMICS), OFFERS, together=counts, linked=apart)
    assert np.isnan(rented.gpus_usd).all()
