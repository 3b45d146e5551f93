"""Choosing among plans that no rule rejects: tiers, dominance, merit, evidence. On plans made up for the purpose."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st
from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor, shipped_advisor
from whichgpu.engine.advisor.beaten import Beaten
from whichgpu.engine.advisor.choice import Standing, choose
from whichgpu.engine.advisor.contenders import NONE, UNSTATED, AskedLoad, Contenders, stated_load, traits_of
from whichgpu.engine.advisor.measures import MeasureColumns, Measures
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.plans.model import Cost, Layout, Plan


class Contender(Struct, frozen=True):
    """One row of the contenders."""

    plan: Plan
    measures: Measures
    score: float
    proven: bool
    fallback: bool
    in_card_band: bool
    in_count_band: bool
    roomy: bool
    in_time: bool

    @property
    def id(self) -> str:
        return self.plan.id

    @property
    def cost(self) -> float | None:
        return self.measures.cost

    @property
    def time(self) -> float | None:
        return self.measures.time


def columns(entries: Sequence[Contender], load: AskedLoad = UNSTATED) -> Contenders:
    marks = ("proven", "fallback", "in_card_band", "in_count_band", "roomy", "in_time")
    return Contenders(
        traits_of([entry.plan for entry in entries], load),
        MeasureColumns.of([entry.measures for entry in entries]),
        np.array([entry.score for entry in entries], np.float64),
        *(np.array([getattr(entry, mark) for entry in entries], np.bool_) for mark in marks),
    )


def standings(entries: Sequence[Contender], objective: Objective) -> dict[str, Standing]:
    found, ids = choose(columns(entries), objective), [entry.id for entry in entries]
    return {ids[row]: found.standing(row, ids) for row in found.order.tolist()}


def by_name(entries: Sequence[Contender], rows: Sequence[int]) -> dict[str, str]:
    return {entry.id: entries[row].id for entry, row in zip(entries, rows, strict=True) if row != NONE}


def all_beaten(found: Contenders, objective: Objective, *, one_tier: bool) -> Beaten:
    """What beats plans of one tier, or of a tier for each, where nothing is larger than anybody asked for."""
    ranks = np.arange(len(found)) * (not one_tier)
    beaten = Beaten(found, ranks, np.zeros(len(found)), np.full(len(found), NONE), objective)
    beaten.find(np.ones(len(found), np.bool_))
    return beaten


def dominated_plans(entries: Sequence[Contender], margin: float) -> dict[str, str]:
    beaten = all_beaten(columns(entries), replace(stated("balanced"), dominance_margin=margin), one_tier=True)
    return by_name(entries, beaten.in_tier.tolist())


def beaten_by_equals(entries: Sequence[Contender], objective: Objective, load: AskedLoad = UNSTATED) -> dict[str, str]:
    return by_name(entries, all_beaten(columns(entries, load), objective, one_tier=False).outweighed.tolist())


def contender(
    name: str,
    cost: float | None = 1.0,
    time: float | None = 1.0,
    *,
    score: float = 0.0,
    proven: bool = True,
    fallback: bool = False,
    cards: bool = False,
    counts: bool = False,
    count: int = 1,
    vram: float = 24,
    vendor: str = "nvidia",
    segment: str = "datacenter",
    nodes: int = 1,
    pcie: int = 0,
    family: str | None = None,
    hourly: float | None = None,
    replicas: int = 1,
    joined: int | None = None,
    sustains: float | None = None,
    roomy: bool = True,
    in_time: bool = False,
    lateness: float = 1.0,
    bought: bool = False,
    owned: bool = False,
    an_hour: float | None = None,
) -> Contender:
    gpu = Gpu(id=name, family=family or name, series=name, name=name, vendor=vendor, vram_gb=vram, segment=segment)
    plan = Plan(
        id=name,
        gpu=gpu,
        count=count,
        nodes=nodes,
        link="none",
        node_link="none",
        layout=Layout(),
        precision=None,
        memory=None,
        speed=None,
        cost=Cost(),
        power_w=None,
        why_count="one card",
        facts={
            "plan.pcie_gpus": pcie,
            "plan.replicas": replicas,
            "plan.joined_nodes": joined or nodes,
            "plan.bought": bought,
            "plan.owned": owned,
        }
        | ({} if sustains is None else {"plan.qps": sustains})
        | ({} if an_hour is None else {"plan.usd_per_hour": an_hour}),
    )
    measures = Measures(cost, time, usd_per_hour=hourly, perceived_time=time, lateness=lateness)
    return Contender(plan, measures, score, proven, fallback, cards, counts, roomy, in_time)


def stated(name: str) -> Objective:
    return replace(shipped_advisor().objectives[name], stated=True)


@pytest.fixture
def cheapest() -> Objective:
    return stated("cheapest")


@pytest.fixture
def fastest() -> Objective:
    return stated("fastest")


@pytest.fixture
def unstated(advisor: Advisor) -> Objective:
    return advisor.objectives["balanced"]


def order(contenders: Sequence[Contender], objective: Objective) -> list[str]:
    return list(standings(contenders, objective))


def answer(contenders: Sequence[Contender], objective: Objective) -> str:
    return order(contenders, objective)[0]


# ------------------------------------------------------------------------------------------------ tiers


def test_an_unverified_plan_stands_below_every_verified_one(cheapest: Objective) -> None:
    found = standings([contender("a", 1, 1, proven=False), contender("b", 50, 9)], cheapest)
    assert list(found) == ["b", "a"]
    assert [standing.eligible for standing in found.values()] == [True, False]
    assert found["a"].tier > found["b"].tier


def test_a_fallback_is_chosen_only_without_others(cheapest: Objective) -> None:
    last, other = contender("last", 1, 1, fallback=True), contender("other", 9, 9)
    assert order([last, other], cheapest) == ["other", "last"]
    assert answer([last, replace(other, proven=False)], cheapest) == "last"
    assert answer([last], cheapest) == "last"


def test_what_a_guide_names_comes_first_while_no_objective_is_stated(unstated: Objective, cheapest: Objective) -> None:
    plans = [
        contender("plain", 1.0, 1.2),
        contender("card", 1.1, 1.1, cards=True),
        contender("count", 1.2, 1.0, counts=True),
    ]
    assert order(plans, unstated) == ["count", "card", "plain"]
    assert order(plans, cheapest)[0] == "plain"


def test_a_guides_card_comes_with_the_count_that_a_guide_names(unstated: Objective) -> None:
    plans = [contender("one", 1, 2, cards=True, score=9), contender("two", 1.5, 1, cards=True, counts=True)]
    assert answer(plans, unstated) == "two"


def test_evidence_never_lifts_a_plan_out_of_its_tier(unstated: Objective) -> None:
    plans = [contender("loved", 1, 1, score=99), contender("named", 1.2, 0.9, cards=True, score=-99)]
    assert answer(plans, unstated) == "named"


# ------------------------------------------------------------------------------------------------ dominance


def test_a_plan_beaten_in_both_by_the_margin_is_no_answer(cheapest: Objective) -> None:
    plans = [contender("loved", 1.08, 1.2, score=99), contender("lean", 1.0, 1.0)]
    found = standings(plans, cheapest)
    assert list(found) == ["lean", "loved"]
    assert found["loved"] == Standing(found["lean"].tier, 1.08, False, "lean")
    assert found["lean"].dominated_by is None


def test_less_than_the_margin_in_one_of_them_is_no_dominance() -> None:
    plans = [contender("a", 1.0, 1.0), contender("b", 1.03, 2.0), contender("c", 2.0, 1.03), contender("d", 0.5, 1.5)]
    assert dominated_plans(plans, 0.05) == {"b": "d"}
    assert dominated_plans(plans[:3], 0.05) == {}


def test_named_is_the_plan_that_beats_it_most() -> None:
    plans = [contender("a", 2, 2), contender("b", 1, 1), contender("c", 1.5, 1.5), contender("d", 0.9, 1.9)]
    assert dominated_plans(plans, 0.05)["a"] == "b"


def test_what_is_not_known_neither_beats_nor_is_beaten() -> None:
    assert dominated_plans([contender("a", None, 1), contender("b", 1, None), contender("c", 9, 9)], 0.05) == {}


def test_only_plans_of_the_same_tier_dominate(cheapest: Objective) -> None:
    found = standings([contender("a", 1, 1, fallback=True), contender("b", 9, 9)], cheapest)
    assert found["b"].dominated_by is None
    assert next(iter(found)) == "b"


def test_an_equal_that_is_cheaper_and_faster_stands_in_for_a_guides_card(unstated: Objective) -> None:
    named = contender("named", 10, 2, cards=True, score=5)
    found = standings([named, contender("equal", 9, 1)], unstated)
    assert list(found) == ["equal", "named"]
    assert found["equal"].stands_in_for == "named"
    assert found["equal"].tier == found["named"].tier
    assert found["named"].dominated_by == "equal"
    tie = 10 * (1 + unstated.dominance_margin)
    assert answer([named, contender("dear", tie * 1.01, 1)], unstated) == "named"
    assert answer([named, contender("a tie", tie * 0.99, 1)], unstated) == "a tie"
    # Less by the margin in one of cost and time, and no worse in the other, is cheaper and faster on the same page.
    assert answer([named, contender("hardly cheaper", 9.8, 1.7)], unstated) == "hardly cheaper"
    assert answer([named, contender("hardly sooner", 9, 1.97)], unstated) == "hardly sooner"
    assert answer([named, contender("hardly either", 9.8, 1.97)], unstated) == "named"
    assert answer([named, contender("bought", 9, 1.97, bought=True)], unstated) == "named"
    assert answer([named, contender("a trade", 9, 2.03)], unstated) == "named"
    assert answer([named, contender("for no more", 10, 1.5)], unstated) == "for no more"
    assert answer([named, contender("more of it", 10, 1, count=2, family="named")], unstated) == "named"
    copied = contender("named", 10, 2, cards=True, score=5, replicas=2)
    assert answer([copied, contender("one replica", 10, 1)], unstated) == "named"
    assert answer([named, contender("slow", 1, 2.5)], unstated) == "named"
    # A segment is asked for, or it is no reason to pay more for less; cards that lack what is stated are a last choice.
    assert answer([named, contender("lower", 9, 1, segment="consumer")], unstated) == "lower"
    assert answer([named, contender("lower", 9, 1.97, segment="consumer")], unstated) == "lower"
    assert answer([named, contender("lower", 9, 2.03, segment="consumer")], unstated) == "named"
    assert answer([named, contender("lower", 1, 1, segment="consumer", fallback=True)], unstated) == "named"
    assert answer([named, contender("lower", 1, 1, segment="consumer", count=2, pcie=2)], unstated) == "named"
    assert answer([named, contender("other", 1, 1, vendor="amd")], unstated) == "named"
    assert answer([named, contender("spread", 1, 1, nodes=2)], unstated) == "named"
    assert answer([named, contender("bus", 1, 1, count=2, pcie=2)], unstated) == "named"
    # As many cards are no larger over PCIe, and what the link costs is in their speed.
    four = contender("four", 10, 2, cards=True, score=5, count=4)
    assert answer([four, contender("bus", 9, 1, count=4, pcie=4)], unstated) == "bus"
    assert answer([four, contender("bus", 9, 2.03, count=4, pcie=4)], unstated) == "four"
    assert answer([named, contender("guess", 1, 1, fallback=True)], unstated) == "named"


def test_an_equal_as_fast_that_saves_more_than_preferences_may_cost_stands_in_too(unstated: Objective) -> None:
    share, margin = unstated.preference_share, unstated.dominance_margin
    named = contender("named", 10, 2, cards=True, score=5, replicas=2)
    saves, hardly = 9.9 / (1 + share), 10.1 / (1 + share)
    as_fast, slower = 2 * (1 + margin * 0.9), 2 * (1 + margin * 1.1)
    assert answer([named, contender("equal", saves, as_fast, replicas=2)], unstated) == "equal"
    assert answer([named, contender("hardly", hardly, as_fast, replicas=2)], unstated) == "named"
    assert answer([named, contender("slower", saves, slower, replicas=2)], unstated) == "named"
    # One replica that is split more widely answers as soon at little load, and sustains less.
    assert answer([named, contender("split", saves, as_fast, replicas=1)], unstated) == "named"


def test_what_a_service_can_bear_counts_and_not_its_copies(unstated: Objective) -> None:
    thirteen = contender("thirteen", 10, 8, cards=True, score=5, count=13, replicas=13, sustains=4)
    four = contender("four", 9.9, 1, count=4, replicas=4, sustains=3.9)
    assert answer([thirteen, four], unstated) == "four"
    assert answer([thirteen, contender("less", 9.9, 1, count=4, replicas=4, sustains=3.7)], unstated) == "thirteen"
    # Of one of the two it is not known what it sustains.
    assert answer([thirteen, contender("unknown", 9.9, 1, count=4, replicas=4)], unstated) == "thirteen"


def test_what_nobody_asks_of_a_service_is_no_reason_to_pay_for_it(unstated: Objective) -> None:
    plans = [contender("named", 10, 2, cards=True, sustains=9), contender("equal", 5, 2, sustains=4)]
    loads = (UNSTATED, AskedLoad(most=3.0), AskedLoad(most=6.0))
    found = [beaten_by_equals(plans, unstated, load).get("named") for load in loads]
    assert found == [None, "equal", None]


@pytest.mark.parametrize(
    ("stated", "load"),
    [
        ({}, UNSTATED),  # one request in flight is assumed
        ({"concurrency": 20}, AskedLoad("plan.max_concurrency", 20)),
        ({"concurrency": 20, "peak_qps": 3}, AskedLoad("plan.qps", 3)),  # requests that come, whoever waits
        ({"concurrency": 20, "min_tokens_per_s": 900}, UNSTATED),
    ],
)
def test_whoever_holds_the_users_that_are_stated_sustains_what_is_asked(
    advisor: Advisor, stated: dict[str, Any], load: AskedLoad
) -> None:
    raw = {"task": "inference", "model_name": "llama-3.1-8b", "serving_mode": "interactive", **stated}
    intake, _ = advisor.context.resolve(advisor.read(raw).given)
    assert stated_load(intake) == load


def test_a_guides_card_that_costs_far_more_gives_way_to_an_equal_of_no_worse_a_balance(unstated: Objective) -> None:
    ratio, least = unstated.guide_price_ratio, unstated.guide_least_saving
    named = contender("named", 10 * ratio, 2, cards=True, score=5, sustains=9, an_hour=10 * ratio + least)

    def beside(cost: float, time: float, sustains: float, an_hour: float) -> str:
        return answer([named, contender("equal", cost, time, sustains=sustains, an_hour=an_hour)], unstated)

    slower = 2 * ratio * 0.99
    assert beside(10, slower, 9, 10 * ratio) == "equal"
    assert beside(10.1, slower, 9, 10 * ratio) == "named", "it saves too little"
    assert beside(10, slower, 9, 10 * ratio + 0.1) == "named", "an hour of it costs hardly less"
    assert beside(10, 2 * ratio * 1.01, 9, 10 * ratio) == "named", "it strikes a worse balance"
    assert beside(10, slower, 8, 10 * ratio) == "named", "it sustains less"
    other_count = contender("other", 10, slower, sustains=9, an_hour=10, family="named", cards=True)
    assert answer([named, other_count], unstated) == "named", "its count is the guides' to tell"


def test_a_guides_card_comes_in_no_form_for_which_less_speaks_than_for_the_equal(unstated: Objective) -> None:
    named = contender("named", 10, 2, cards=True, score=5)
    other = contender("other", 6, 4, cards=True, score=1, family="named")
    assert answer([named, other, contender("equal", 9, 1, score=0)], unstated) == "other"
    assert answer([named, other, contender("equal", 9, 1, score=2)], unstated) == "equal"


def test_fewer_machines_in_all_join_no_more_though_a_link_joins_the_others_machines(unstated: Objective) -> None:
    rack = contender("rack", 10, 2, score=5, count=64, nodes=16, joined=1, an_hour=10)
    assert answer([rack, contender("boards", 5, 2.2, count=64, nodes=8, an_hour=5)], unstated) == "boards"
    assert answer([rack, contender("spread", 5, 2.2, count=64, nodes=17, an_hour=5)], unstated) == "rack"


def test_copies_in_machines_of_their_own_join_nothing(unstated: Objective) -> None:
    one = contender("one", 10, 2, cards=True, count=4)
    assert answer([one, contender("apart", 8, 1, count=4, replicas=4, nodes=4, joined=1)], unstated) == "apart"
    assert answer([one, contender("spread", 8, 1, count=4, replicas=1, nodes=4, joined=4)], unstated) == "one"


def test_fewer_of_another_card_keep_a_guides_count_where_it_names_as_few(unstated: Objective) -> None:
    eight = contender("eight", 10, 2, count=8, counts=True, score=5, replicas=8)
    one = contender("one", 4, 5, count=1, counts=True)
    four = contender("four", 6, 1, count=4, replicas=4)
    assert answer([eight, one, four], unstated) == "four"
    assert answer([eight, four], unstated) == "eight", "the guides name no count as small"
    fewer_of_it = contender("fewer", 6, 1, count=4, family="eight", replicas=4)
    assert answer([eight, one, fewer_of_it], unstated) == "eight"


def test_a_guides_count_gives_way_to_fewer_gpus_that_are_cheaper_and_faster(unstated: Objective) -> None:
    eight = contender("eight", 10, 2, count=8, counts=True, score=5)
    assert answer([eight, contender("two", 9, 1.8, count=2)], unstated) == "two"
    for cost, time in ((9.8, 1.8), (9, 1.98)):  # not cheaper, and not faster, by the margin of dominance
        assert answer([eight, contender("two", cost, time, count=2)], unstated) == "eight"
    # What fails apart is not had from fewer replicas.
    replicas = contender("eight", 10, 2, count=8, counts=True, score=5, replicas=8)
    assert answer([replicas, contender("two", 9, 1.8, count=2, replicas=2)], unstated) == "eight"


def test_a_plan_far_ahead_for_the_same_money_an_hour_stands_in_whatever_its_segment_and_links(
    unstated: Objective,
) -> None:
    price, time = unstated.guide_price_ratio, unstated.guide_time_ratio

    def ahead(name: str, cost: float, later: float, an_hour: float = 4.0, **more: Any) -> Contender:
        desk = {"segment": "consumer", "count": 8, "pcie": 8} | more
        return contender(name, cost, later, an_hour=an_hour, **desk)

    one = contender("one", 10, 2, counts=True, score=5, an_hour=4.0)
    far = 9.9 / price, 1.9 / time
    assert answer([one, ahead("eight", *far)], unstated) == "eight"
    assert answer([one, ahead("eight", 10.1 / price, far[1])], unstated) == "one"
    assert answer([one, ahead("eight", far[0], 2.1 / time)], unstated) == "one"
    assert answer([one, ahead("eight", *far, an_hour=4.5)], unstated) == "one"
    assert answer([one, ahead("eight", *far, vendor="amd")], unstated) == "one"
    assert answer([one, ahead("eight", *far, fallback=True)], unstated) == "one"
    # Where a guide names cards it names them for something else as well: their power, what their makers promise.
    named = contender("one", 10, 2, counts=True, cards=True, score=5, an_hour=4.0)
    assert answer([named, ahead("eight", *far)], unstated) == "one"
    assert answer([named, ahead("eight", *far, cards=True)], unstated) == "eight"


def test_fewer_cards_over_pcie_at_no_worse_a_balance_stand_in_for_a_guides_card(unstated: Objective) -> None:
    joined = contender("joined", 10, 2, cards=True, score=5, count=4, pcie=4, counts=True)
    assert answer([joined, contender("one", 6, 3.3, counts=True)], unstated) == "one"
    assert answer([joined, contender("slow", 6, 3.4, counts=True)], unstated) == "joined"
    assert answer([joined, contender("four", 6, 3.3, count=4, pcie=4, counts=True)], unstated) == "joined"
    # Of several equals it is the one with the fewest cards over PCIe.
    faster = contender("faster", 7, 1.9, count=4, pcie=4, counts=True)
    assert answer([joined, contender("one", 6, 3.3, counts=True), faster], unstated) == "one"


def test_by_the_piece_a_guides_card_stands_before_what_costs_more_by_the_hour(unstated: Objective) -> None:
    ratio = unstated.guide_cost_ratio
    assert ratio > 1
    named = contender("named", 10, 2, cards=True, hourly=1)
    assert answer([named, contender("dear", 10.1 / ratio, 1, hourly=4)], unstated) == "named"
    assert answer([named, contender("far cheaper", 9.9 / ratio, 1, hourly=4)], unstated) == "far cheaper"
    assert answer([named, contender("no costlier", 9, 1, hourly=1)], unstated) == "no costlier"


def test_an_hour_that_costs_hardly_more_saves_no_guides_card_unless_nobody_waits(unstated: Objective) -> None:
    share = unstated.guide_hour_share
    assert share > 0
    named = contender("named", 10, 2, cards=True, hourly=1)
    hardly, more = 1 + share * 0.9, 1 + share * 1.1
    assert answer([named, contender("equal", 9, 1, hourly=hardly)], unstated) == "equal"
    assert answer([named, contender("equal", 9, 1, hourly=more)], unstated) == "named"
    patient = replace(unstated, guide_hour_share=0.0)
    assert answer([named, contender("equal", 9, 1, hourly=hardly)], patient) == "named"
    # The same card in another count is what the guide names.
    eight = contender("eight", 9, 1, hourly=8, family="named", count=8)
    assert answer([named, eight], unstated) == "eight"
    # Where a guide names the count alone, or both cards, no card of its stands in the way.
    counted = contender("counted", 10, 2, counts=True, hourly=1)
    assert answer([counted, contender("equal", 9, 1, counts=True, hourly=more)], unstated) == "equal"
    assert answer([named, contender("equal", 9, 1, cards=True, hourly=more)], unstated) == "equal"


def test_cards_of_a_machine_that_is_paid_for_anyway_are_used(unstated: Objective) -> None:
    four = contender("four", 10, 2, cards=True, counts=True, hourly=4, family="card", pcie=4, count=4)
    assert answer([four, contender("eight", 5, 1, hourly=4, family="card", pcie=8, count=8)], unstated) == "eight"
    assert answer([four, contender("eight", 5, 1, hourly=5, family="card", pcie=8, count=8)], unstated) == "four"
    assert answer([four, contender("other", 5, 1, hourly=4, pcie=8, count=8)], unstated) == "four"


@pytest.mark.parametrize(
    ("name", "cost", "expected"), [("cheapest", 1, "one"), ("cheapest", 0.9, "eight"), ("fastest", 1, "eight")]
)
def test_work_of_unknown_length_gets_more_of_a_card_only_for_less_or_for_speed(
    name: str, cost: float, expected: str
) -> None:
    one = contender("one", 1, 8, hourly=1, family="card")
    eight = contender("eight", cost, 1, hourly=8, family="card", count=8, score=9)
    assert answer([one, eight], stated(name)) == expected
    whole_run = [contender("one", 1, 8, family="card"), contender("eight", 1, 1, family="card", count=8, score=9)]
    assert answer(whole_run, stated(name)) == "eight"


def piecework(name: str, card: str, count: int, cost: float, hourly: float, score: float = 0.0) -> Contender:
    """A plan of a job whose length is not known: an hour of a card, and what a piece of work costs on it."""
    return contender(
        name, cost, cost / (hourly * count), family=card, count=count, hourly=hourly * count, pcie=count, score=score
    )


def test_what_is_larger_than_anybody_asked_for_puts_nothing_out(cheapest: Objective) -> None:
    small, liked = piecework("small", "a", 1, 102, 1), piecework("liked", "b", 1, 110, 4, score=1)
    eight = piecework("eight", "a", 8, 102, 1)
    twice = piecework("twice", "b", 2, 110, 4, score=2)
    found = standings([small, liked, eight, twice], cheapest)
    assert next(iter(found)) == "liked"
    assert {name: standing.larger_than for name, standing in found.items()} == {
        "liked": None,
        "small": None,
        "eight": "small",
        "twice": "liked",
    }


def test_of_what_is_as_cheap_nobody_waits_twice_as_long(cheapest: Objective) -> None:
    slow = contender("slow", 100, 10, score=5)
    assert answer([slow, contender("soon", 104, 5)], cheapest) == "soon"
    assert answer([slow, contender("sooner", 104, 6)], cheapest) == "slow", "evidence chooses"
    assert answer([slow, contender("dearer", 106, 5)], cheapest) == "slow"
    assert answer([slow, contender("spread", 104, 5, nodes=2)], cheapest) == "slow"
    bears_less = contender("bears less", 104, 5, sustains=4)
    assert answer([contender("slow", 100, 10, score=5, sustains=9), bears_less], cheapest) == "slow"


def test_what_puts_the_fastest_out_is_no_worse_than_it() -> None:
    """Eight cards that are faster for less put one out: then they are the answer, and not a slow one."""
    fast, slow = contender("fast", 10, 100), contender("slow", 8.9, 130)
    eight = contender("eight", 9, 90, count=8)
    assert answer([fast, slow, eight], stated("fastest")) == "eight"
    assert answer([fast, slow, contender("eight", 12, 90, count=8)], stated("fastest")) == "fast"


def test_the_fastest_costs_nothing_for_nothing() -> None:
    fastest = stated("fastest")
    dear, cheap = contender("dear", 4570, 8.70, count=28, score=5), contender("cheap", 2342, 8.61, count=32)
    assert answer([dear, cheap], fastest) == "cheap"
    assert answer([dear, contender("as-dear", 4500, 8.61, count=32)], fastest) == "dear"


def test_the_fastest_is_not_beaten_by_as_many_cards() -> None:
    """Eight cheap cards are no worse than two dear ones, and still slower than eight others."""
    two, cheap = contender("two", 14, 5.0, count=2), contender("cheap", 7.7, 4.7, count=8, score=9)
    eight = contender("eight", 20, 3.52, count=8)
    assert answer([two, cheap, eight], stated("fastest")) == "eight"
    assert answer([two, cheap], stated("fastest")) == "cheap"


def test_a_guides_card_gives_way_where_others_answer_much_sooner_for_hardly_more(unstated: Objective) -> None:
    named = contender("named", 100, 40000, cards=True, hourly=None, an_hour=1.0, sustains=1.0, score=5)
    assert answer([named, contender("sooner", 120, 15000, an_hour=1.2, sustains=1.0)], unstated) == "sooner"
    assert answer([named, contender("costlier", 130, 15000, an_hour=1.3, sustains=1.0)], unstated) == "named"
    assert answer([named, contender("little", 120, 25000, an_hour=1.2, sustains=1.0)], unstated) == "named"
    assert answer([named, contender("sustains-less", 120, 15000, an_hour=1.2, sustains=0.5)], unstated) == "named"


def test_what_stands_in_late_gives_way_to_more_of_itself_that_is_in_time(unstated: Objective) -> None:
    """Five of a card that answered after 25 s stood in for a guide's, where twelve cost no more as lateness counts."""
    named = contender("named", 28, 52, cards=True, lateness=3.4, sustains=1.0, an_hour=28)
    five = contender("five", 20, 37, lateness=2.5, sustains=1.0, an_hour=20, family="card", count=5, replicas=5)
    sizes = {"an_hour": 48, "family": "card", "count": 12, "replicas": 12, "sustains": 2.0}
    assert answer([named, five], unstated) == "five"
    assert answer([named, five, contender("twelve", 48, 17, **sizes)], unstated) == "twelve"
    # Where nobody waits too long, more of it costs more for what nobody asked for.
    named, five = (replace(plan, measures=replace(plan.measures, lateness=1.0)) for plan in (named, five))
    assert answer([named, five, contender("twelve", 48, 17, **sizes)], unstated) == "five"


def test_a_guides_card_gives_way_where_its_answers_come_later_than_people_bear(unstated: Objective) -> None:
    late = contender("late", 100, 40000, cards=True, an_hour=1.0, sustains=1.0, lateness=20.0, score=5)
    assert answer([late, contender("costlier", 130, 25000, an_hour=1.3, sustains=1.0)], unstated) == "costlier"


def test_what_only_stands_in_for_a_guides_card_is_not_held_against_an_equal(unstated: Objective) -> None:
    """The named card gives way to one at the same hour; a third beats that one, and costs more an hour than both."""
    named = contender("named", 100, 10, cards=True, hourly=1.0, score=5)
    beside, third = contender("beside", 85, 8, hourly=1.0), contender("third", 60, 3, hourly=1.8)
    assert answer([named, third], unstated) == "named"
    assert answer([named, beside], unstated) == "beside"
    assert answer([named, beside, third], unstated) == "third"
    costlier = contender("costlier", 62, 1, hourly=4.0)
    assert answer([named, beside, third, costlier], unstated) == "third"


def test_work_of_unknown_length_takes_fewer_machines_where_it_costs_hardly_more(unstated: Objective) -> None:
    tuning = unstated.of_work(job=True)
    four = contender("four", 100, 1, cards=True, hourly=120.0, score=5, count=32, nodes=4)
    one = contender("one", 105, 1.8, hourly=68.0, count=8)
    assert answer([four, one], tuning) == "one"
    assert answer([four, one], unstated.of_work(job=True, long=True)) == "four"
    assert answer([four, contender("dear", 130, 1.8, hourly=68.0, count=8)], tuning) == "four"
    assert answer([four, contender("an hour for as much", 105, 1.8, hourly=100.0, count=8)], tuning) == "four"
    assert answer([four, contender("slow", 105, 4, hourly=68.0, count=8)], tuning) == "four"


def test_what_stands_in_gives_way_in_turn_where_guides_name_no_card(unstated: Objective) -> None:
    first = contender("first", 100, 2, counts=True, hourly=9.0, score=5)
    stands_in = contender("stands in", 55, 2.05, hourly=5.0, count=4)
    third = contender("third", 40, 1.5, hourly=4.0, count=4, pcie=4, segment="professional")
    assert answer([first, stands_in], unstated) == "stands in"
    assert answer([first, stands_in, third], unstated) == "third"


def test_what_only_stands_in_gives_way_to_what_is_far_cheaper_as_the_guides_card_would(unstated: Objective) -> None:
    """The named card gives way to one as fast; another does the same for half of that money, a little later."""
    named = contender("named", 140, 16000, cards=True, an_hour=102.0, sustains=30.0, score=5)
    beside = contender("beside", 100, 13700, an_hour=75.0, sustains=30.0)
    far = contender("far", 42, 20300, an_hour=32.0, sustains=30.0)
    assert answer([named, beside], unstated) == "beside"
    assert answer([named, beside, far], unstated) == "far"
    assert answer([named, beside, contender("slow", 42, 40000, an_hour=32.0, sustains=30.0)], unstated) == "beside"
    assert answer([named, beside, contender("less", 42, 20300, an_hour=32.0, sustains=20.0)], unstated) == "beside"
    replicas = contender("replicas", 42, 20300, an_hour=32.0, sustains=30.0, family="beside", count=2, replicas=2)
    assert answer([named, beside, replicas], unstated) == "replicas"  # No guide names that card in any form.


@pytest.mark.parametrize(("owned", "expected"), [(True, "four"), (False, "two")])
def test_what_is_owned_is_never_more_than_was_asked_for(cheapest: Objective, owned: bool, expected: str) -> None:
    """Two cards of four that stand there do not save the other two."""
    shares = {"two": (2, 103.0), "three": (3, 101.5), "four": (4, 100.0)}
    entries = [
        contender(name, cost, cost / count, family="card", count=count, hourly=count, owned=owned)
        for name, (count, cost) in shares.items()
    ]
    assert answer(entries, cheapest) == expected


def test_what_the_objective_puts_behind_a_plan_does_not_put_it_out() -> None:
    """Eight that cost a little less by the piece, and twice as much by the hour, are no balance for one."""
    one, eight = piecework("one", "b", 1, 110, 4), piecework("eight", "a", 8, 102, 1)
    assert answer([one, eight], stated("balanced")) == "one"
    assert answer([one, piecework("eight", "a", 8, 80, 0.4)], stated("balanced")) == "eight"
    assert answer([one, piecework("two", "a", 2, 50, 4)], stated("balanced")) == "two"


def test_an_hour_that_costs_no_more_is_reason_enough(cheapest: Objective) -> None:
    one = piecework("one", "b", 1, 110, 4, score=9)
    assert answer([one, piecework("eight", "a", 8, 90, 0.5)], cheapest) == "eight"


def test_a_guides_count_is_kept_by_an_equal_of_that_count_in_fewer_machines(unstated: Objective) -> None:
    eight = contender("eight", 11, 3, count=8, counts=True, replicas=8)
    two_machines = contender("sixteen", 10, 2, count=16, nodes=2, counts=True, score=1, replicas=16)
    assert answer([eight, two_machines, contender("other", 9, 1, count=8, replicas=8)], unstated) == "other"
    assert answer([eight, two_machines, contender("other", 9, 1, count=4, replicas=4)], unstated) == "sixteen"


def test_what_beats_the_first_by_evidence_in_its_tier_stands_in_for_it(unstated: Objective) -> None:
    first, next_best = contender("first", 10, 2, score=9), contender("next", 30, 1.5, score=8)
    for spread in ({"nodes": 2}, {"pcie": 4}):
        found = standings([first, next_best, contender("better", 9, 1, **spread)], unstated)
        assert next(iter(found)) == "better"
        assert found["better"].stands_in_for == "first"
        assert found["first"].dominated_by == "better"


def test_a_guides_card_comes_in_another_count_before_an_equal_stands_in_for_it(unstated: Objective) -> None:
    first = contender("eight", 10, 2, cards=True, score=9, family="card")
    other = contender("one", 2, 9, cards=True, score=1, family="card")
    equal = contender("equal", 9, 1)
    assert answer([first, other, equal], unstated) == "one"
    assert answer([first, equal], unstated) == "equal"
    # Not in one that is so much the worse bargain, only because no equal happens to be faster than that.
    fast = contender("faster", 40, 0.9, cards=True, score=1, family="card")
    assert answer([first, fast, equal], unstated) == "equal"
    worse = contender("another card", 2, 9, cards=True, score=1)
    assert answer([first, worse, equal], unstated) == "equal"


def test_a_count_of_the_guides_keeps_its_word_against_equals_without_it(unstated: Objective) -> None:
    named = contender("named", 10, 2, count=4, counts=True, replicas=4)
    assert beaten_by_equals([named, contender("equal", 1, 1, count=2)], unstated) == {}
    assert beaten_by_equals([named, contender("equal", 1, 1, count=2, counts=True)], unstated) == {"named": "equal"}
    # So many GPUs are so many, whichever card it is of which a guide says it.
    assert beaten_by_equals([named, contender("as many", 1, 1, count=4)], unstated) == {"named": "as many"}
    # Fewer cards are named for their price: more of them for less money keep the point.
    assert beaten_by_equals([named, contender("more", 1, 1, count=8)], unstated) == {"named": "more"}


# ------------------------------------------------------------------------------------------------ merit and evidence


@pytest.mark.parametrize(
    ("name", "share", "price"), [("cheapest", 0.1, "cost"), ("fastest", 0.05, "time"), ("balanced", 0.25, "cost")]
)
def test_preferences_choose_within_the_share_of_the_best(name: str, share: float, price: str) -> None:
    objective = stated(name)
    assert objective.preference_share == share
    best = contender("best", 1, 1)
    for ratio, expected in ((1 + share * 0.9, "loved"), (1 + share * 1.1, "best")):
        cost, time = (ratio, 1.0) if price == "cost" else (1.0, ratio)
        assert answer([best, contender("loved", cost, time, score=5)], objective) == expected


def test_the_fastest_takes_no_more_gpus_for_being_cheaper_than_a_dear_plan(fastest: Objective) -> None:
    """Eight GPUs that are faster by a tenth are no gain over four, whatever else costs more than they do."""
    dear, four = contender("dear", 33, 2.92, count=4), contender("four", 10, 2.98, count=4, score=1)
    eight = contender("eight", 20, 2.73, count=8)
    assert answer([dear, four, eight], fastest) == "four"
    faster = contender("eight", 20, 2.92 / fastest.gain_of_doubling / 1.06, count=8)
    assert answer([dear, four, faster], fastest) == "eight"


def test_the_fastest_may_be_later_still_for_half_the_money(fastest: Objective) -> None:
    usual, share = fastest.preference_share, fastest.half_cost_share
    dear = contender("dear", 75, 1)
    for cost, share_of_time, expected in (
        (37, 0.95 * share, "cheap"),
        (20, 1.05 * share, "dear"),
        (0.75 * 75, (usual + share) / 2 - 0.003, "cheap"),
        (0.75 * 75, (usual + share) / 2 + 0.003, "dear"),
        (70, 0.9 * usual, "cheap"),
    ):
        cheap = contender("cheap", cost, 1 + share_of_time, score=2)
        assert answer([dear, cheap], fastest) == expected, (cost, share_of_time)


def test_without_evidence_the_best_merit_wins(cheapest: Objective, fastest: Objective) -> None:
    plans = [contender("a", 1.05, 1), contender("b", 1, 1.04), contender("c", 3, 0.5)]
    assert answer(plans, cheapest) == "b"
    assert answer(plans, fastest) == "c"


def test_the_score_of_evidence_decides_where_nothing_is_stated(unstated: Objective) -> None:
    plans = [contender("cheap", 1, 2, score=1), contender("quick", 2, 1, score=2), contender("mid", 1.4, 1.4)]
    assert order(plans, unstated) == ["quick", "cheap", "mid"]
    assert all(standing.eligible for standing in standings(plans, unstated).values())


def test_an_unknown_cost_has_no_merit_beside_known_ones(cheapest: Objective, fastest: Objective) -> None:
    plans = [contender("unknown", None, 1), contender("known", 5, 3)]
    assert answer(plans, cheapest) == "known"
    assert standings(plans, cheapest)["unknown"].merit is None
    assert answer(plans, fastest) == "unknown"
    assert answer([contender("alone", None, None)], cheapest) == "alone"


def test_an_unknown_time_counts_as_the_slowest(fastest: Objective) -> None:
    found = standings([contender("unknown", 1, None), contender("slow", 1, 8), contender("quick", 9, 2)], fastest)
    assert found["unknown"].merit == found["slow"].merit == 8
    assert next(iter(found)) == "quick"


def test_more_gpus_have_to_bring_more(fastest: Objective) -> None:
    one = contender("one", 1, 1)
    assert answer([one, contender("two", 2, 1 / 1.1, count=2)], fastest) == "one"
    assert answer([one, contender("two", 2, 1 / 1.4, count=2)], fastest) == "two"


def test_a_service_pays_for_its_gpus_by_the_month_and_needs_no_more_of_them_than_that(
    unstated: Objective, fastest: Objective
) -> None:
    assert unstated.of_work(job=True, long=True) == unstated
    assert unstated.of_work(job=True) == replace(unstated, spares_machines=True)
    assert unstated.of_work(job=False).merit(2.0, 3.0, 4) == pytest.approx(6.0)
    assert fastest.of_work(job=False) == fastest
    cheapest = replace(stated("cheapest"), cost_points=2.0, service_cost_points=5.0)
    assert (cheapest.of_work(job=True).cost_points, cheapest.of_work(job=False).cost_points) == (2.0, 5.0)
    balanced = stated("balanced").of_work(job=False)
    dear, three = contender("dear", 16, 4), contender("three", 2, 16, count=3)
    assert answer([dear, three], balanced) == "three"
    assert answer([dear, three], stated("balanced")) == "dear"


def test_preferences_cost_a_share_of_the_time_whatever_fewer_gpus_are_forgiven(fastest: Objective) -> None:
    gain = fastest.gain_of_doubling
    four = contender("four", 4, 1, count=4)
    assert answer([four, contender("two", 2, 1.02 * gain, count=2, score=9)], fastest) == "four"
    assert answer([four, contender("other four", 4, 1.04, count=4, score=9)], fastest) == "other four"


def test_what_only_just_meets_a_target_gives_way_to_what_meets_it_with_room(
    cheapest: Objective, unstated: Objective
) -> None:
    just = contender("just", 10, 1, score=1, roomy=False)
    near = contender("near", 10 * (1 + cheapest.room_share) - 0.1, 1)
    found = standings([just, near], cheapest)
    assert list(found) == ["near", "just"]
    assert [standing.just_met for standing in found.values()] == [False, True]
    far = contender("far", 10 * (1 + cheapest.room_share) + 0.1, 1)
    assert answer([just, far], cheapest) == "just"
    assert answer([just, near], unstated) == "near"
    assert answer([just, contender("far", 10 * (1 + unstated.room_share) + 0.1, 1)], unstated) == "just"


@pytest.mark.parametrize("name", ["cheapest", "balanced"])
def test_an_answer_that_is_late_has_to_cost_as_many_times_less(name: str) -> None:
    sooner, objective = contender("sooner", 10, 1), stated(name)
    assert answer([sooner, contender("late", 5.1, 1, lateness=2)], objective) == "sooner"
    assert answer([sooner, contender("late", 2, 1, lateness=2)], objective) == "late"


def test_where_every_answer_is_late_the_choice_goes_on(cheapest: Objective) -> None:
    assert answer([contender("late", 10, 3, lateness=3), contender("later", 9, 7, lateness=7)], cheapest) == "late"


def test_lateness_costs_nothing_where_cost_does_not_count(fastest: Objective) -> None:
    assert answer([contender("late", 10, 1, lateness=9), contender("slower", 10, 2)], fastest) == "late"


def test_for_as_much_by_the_piece_the_smaller_purchase_is_made(cheapest: Objective) -> None:
    """Its work is paid by the piece, and nobody said how many pieces there are."""
    large = contender("large", 10, 1, count=4, hourly=4, bought=True, score=1)
    small = contender("small", 10.3, 3, hourly=1, bought=True)
    assert answer([large, small], cheapest) == "small"
    assert answer([large, contender("small", 10.3, 3, hourly=3.9, bought=True)], cheapest) == "large"
    assert answer([large, contender("rented", 10.3, 3, hourly=1)], cheapest) == "large"
    assert answer([contender("large", 10, 1, count=4, hourly=4, score=1), small], cheapest) == "large"


def test_the_fastest_pays_no_multiple_for_room(fastest: Objective) -> None:
    just = contender("just", 32, 1.001, roomy=False, score=2)
    share = 1 + fastest.guide_hour_share
    assert answer([just, contender("dear", 32 * share + 0.1, 1)], fastest) == "just"
    assert answer([just, contender("near", 32 * share - 0.1, 1)], fastest) == "near"


def test_preferences_choose_beside_the_best_that_has_room(cheapest: Objective) -> None:
    """Whether a plan that only just meets a target is there or not, the others are compared alike."""
    others = [contender("best", 11, 1), contender("liked", 11.9, 1, score=5)]
    assert answer(others, cheapest) == "liked"
    assert answer([*others, contender("just", 10, 1, roomy=False)], cheapest) == "liked"


def test_what_is_clearly_beaten_has_no_use_of_its_room(cheapest: Objective) -> None:
    assert answer([contender("just", 10, 1, roomy=False), contender("beaten", 11, 1.2)], cheapest) == "just"


def test_while_nothing_is_stated_what_is_in_time_stands_in_for_what_is_sooner(unstated: Objective) -> None:
    """A guide's card that is sooner than asked is worth what preferences may cost, and no more."""
    liked = contender("liked", 10, 1, score=9, in_time=True)
    less = 10 / (1 + unstated.preference_share)
    assert answer([liked, contender("later", less - 0.1, 4, cards=False, in_time=True)], unstated) == "later"
    assert answer([liked, contender("as dear", less + 0.1, 4, cards=False, in_time=True)], unstated) == "liked"
    assert answer([liked, contender("too late", less - 0.1, 4, cards=False)], unstated) == "liked"
    desk = contender("desk", less - 0.1, 4, cards=False, in_time=True, segment="consumer")
    assert answer([liked, desk], unstated) == "liked"


def test_what_is_in_time_for_less_is_said_of_the_answer_and_beats_nothing(unstated: Objective) -> None:
    plans = [contender("liked", 10, 1, score=9, in_time=True), contender("later", 5, 4, in_time=True)]
    found = standings(plans, unstated)
    assert (found["later"].in_time_for_less, found["later"].stands_in_for) == (True, "liked")
    assert (found["liked"].in_time_for_less, found["liked"].dominated_by) == (False, None)


def test_fewer_than_guides_name_are_in_time_as_well_but_for_replicas(unstated: Objective) -> None:
    four = contender("four", 10, 1, score=9, count=4, in_time=True)
    assert answer([four, contender("one", 5, 4, counts=False, in_time=True)], unstated) == "one"
    service = contender("four", 10, 1, score=9, count=4, replicas=4, in_time=True)
    assert answer([service, contender("one", 5, 4, counts=False, in_time=True)], unstated) == "four"


def test_what_beats_the_plan_that_is_in_time_for_less_is_taken(unstated: Objective) -> None:
    plans = [contender("liked", 10, 1, score=9, in_time=True), contender("later", 6, 4, in_time=True)]
    card = contender("card", 5, 3, segment="professional", in_time=True)
    assert answer([*plans, card], unstated) == "card"
    assert answer([*plans, contender("card", 5, 3, segment="professional")], unstated) == "later"


def test_the_cheapest_that_is_surely_in_time_is_taken(unstated: Objective) -> None:
    plans = [contender(name, cost, 5 / cost, in_time=True) for name, cost in (("a", 1), ("b", 2), ("c", 10))]
    plans[2] = contender("c", 10, 1, score=9, in_time=True)
    ids = [plan.id for plan in plans]
    found = [choose(columns(plans), unstated, surely_in_time=sure) for sure in (bool, lambda row: row == 2)]
    assert [ids[each.answer] for each in found] == ["b", "c"]


def test_ties_go_to_fewer_gpus_less_memory_and_the_name(cheapest: Objective) -> None:
    plans = [contender("b"), contender("a"), contender("c", count=2), contender("d", vram=16)]
    orders = {tuple(order(shuffled, cheapest)) for shuffled in itertools.permutations(plans)}
    assert orders == {("d", "a", "b", "c")}


def test_of_nothing_nothing_is_chosen(cheapest: Objective) -> None:
    assert standings([], cheapest) == {}


def test_beyond_the_share_plans_come_by_merit(cheapest: Objective) -> None:
    plans = [
        contender("best", 1, 1),
        contender("near", 1.04, 0.9),
        contender("far", 3, 0.5, score=9),
        contender("mid", 2, 0.8),
    ]
    assert order(plans, cheapest) == ["best", "near", "mid", "far"]


# ------------------------------------------------------------------------------------------------ laws

amounts = st.integers(2, 40).map(lambda number: number / 4)
contenders = st.builds(
    contender,
    st.just("x"),
    st.one_of(st.none(), amounts),
    st.one_of(st.none(), amounts),
    score=st.integers(-3, 3).map(float),
    proven=st.sampled_from([True, True, True, False]),
    fallback=st.sampled_from([False, False, True]),
    cards=st.booleans(),
    counts=st.booleans(),
    count=st.sampled_from([1, 2, 4, 8]),
    segment=st.sampled_from(["datacenter", "consumer"]),
    roomy=st.sampled_from([True, True, False]),
)


def named(entries: list[Contender]) -> list[Contender]:
    """Each by a name of its own."""
    return [replace(entry, plan=replace(entry.plan, id=f"plan-{number}")) for number, entry in enumerate(entries)]


choices = st.lists(contenders, min_size=1, max_size=8).map(named)
objectives = st.sampled_from([stated(name) for name in ("cheapest", "fastest", "balanced")])
any_objective = st.one_of(objectives, st.sampled_from([shipped_advisor().objectives["balanced"]]))


@given(choices, any_objective, st.randoms(use_true_random=False))
def test_the_order_that_plans_come_in_does_not_matter(
    entries: list[Contender], objective: Objective, chance: random.Random
) -> None:
    shuffled = list(entries)
    chance.shuffle(shuffled)
    assert list(standings(shuffled, objective).items()) == list(standings(entries, objective).items())


@given(choices, any_objective)
def test_every_plan_has_a_place_and_the_first_is_the_answer(entries: list[Contender], objective: Objective) -> None:
    found = standings(entries, objective)
    assert set(found) == {entry.id for entry in entries}
    first = next(iter(found.values()))
    assert first.eligible
    assert first.dominated_by is None
    trusted = [standing.tier[:2] for standing in found.values()]
    assert trusted == sorted(trusted)


@given(choices, any_objective)
def test_tiers_may_be_searched_one_by_one_or_all_at_once(entries: list[Contender], objective: Objective) -> None:
    found = columns(entries)
    standing = choose(found, objective)
    ranks = standing.tiers @ np.array([8, 4, 2, 1])
    merits, no_larger = standing.merits, np.full(len(entries), NONE)
    each, at_once = (Beaten(found, ranks, merits, no_larger, objective) for _ in range(2))
    at_once.find(np.ones(len(entries), np.bool_))
    for rank in np.unique(ranks):
        each.find(ranks == rank)
    rows = range(len(entries))
    assert [each.by(row) for row in rows] == [at_once.by(row) for row in rows]


@given(choices, any_objective)
def test_the_answer_is_never_dominated_within_its_tier(entries: list[Contender], objective: Objective) -> None:
    found = standings(entries, objective)
    first = next(iter(found))
    by_id = {entry.id: entry for entry in entries}
    mine = by_id[first]
    if mine.cost is None or mine.time is None:
        return
    for name, standing in found.items():
        other = by_id[name]
        if standing.tier == found[first].tier and other.cost is not None and other.time is not None:
            margin = 1 - objective.dominance_margin
            assert other.cost > mine.cost * margin or other.time * (1 + objective.dominance_margin) > mine.time


@given(choices, objectives)
@example([contender("unpriced", None, 1), contender("fallback", 1, 1, fallback=True)], stated("cheapest"))
def test_a_stated_objective_costs_no_more_than_its_share(entries: list[Contender], objective: Objective) -> None:
    found = standings(entries, objective)
    first = next(iter(found.values()))
    others = [s for s in found.values() if not s.dominated_by and not s.just_met]
    rivals = [s.merit for s in others if s.tier == first.tier and s.merit is not None]
    if first.merit is not None:
        assert first.merit <= min(rivals) * (1 + objective.preference_share) + 1e-6
    else:
        assert not rivals


@given(choices, any_objective, st.floats(0.3, 0.99))
def test_a_lower_price_for_the_winner_keeps_it(entries: list[Contender], objective: Objective, factor: float) -> None:
    before = answer(entries, objective)
    winner = next(entry for entry in entries if entry.id == before)
    assume(winner.cost is not None)
    assert winner.cost is not None
    measures = replace(winner.measures, cost=winner.cost * factor)
    cheaper = [replace(entry, measures=measures) if entry is winner else entry for entry in entries]
    after = answer(cheaper, objective)
    # A better best narrows the window of a stated objective: evidence has less to choose from, and keeps the winner.
    assert after == before


@given(choices, any_objective, st.data())
def test_without_a_loser_the_answer_changes_only_where_it_held_another_down(
    entries: list[Contender], objective: Objective, data: st.DataObject
) -> None:
    assume(len(entries) > 1)
    found = standings(entries, objective)
    before = next(iter(found))
    gone = data.draw(st.sampled_from(sorted(set(found) - {before})))
    after = answer([entry for entry in entries if entry.id != gone], objective)
    if after == before:
        return
    window = {
        name: standing.merit
        for name, standing in found.items()
        if standing.tier == found[before].tier and standing.dominated_by is None and standing.merit is not None
    }
    by_id = {entry.id: entry for entry in entries}
    beaten = _beats(by_id[gone], by_id[after]) or found[after].dominated_by == gone
    set_the_window = objective.stated and gone in window and window[gone] == min(window.values())
    was_the_slowest = by_id[gone].time == max((e.time for e in entries if e.time is not None), default=None)
    only_known_cost = [e.id for e in entries if e.cost is not None] == [gone]
    assert beaten or set_the_window or was_the_slowest or only_known_cost


pieces = st.builds(
    piecework,
    st.just("x"),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([1, 2, 4, 8]),
    amounts,
    st.sampled_from([0.5, 1.0, 1.5, 4.0]),
    st.integers(-3, 3).map(float),
)
piece_choices = st.lists(pieces, min_size=1, max_size=10).map(named)


@given(piece_choices, st.sampled_from([stated("cheapest"), stated("balanced")]))
def test_without_what_is_larger_than_asked_for_the_answer_is_the_same(
    entries: list[Contender], objective: Objective
) -> None:
    found = standings(entries, objective)
    larger = {name for name, standing in found.items() if standing.larger_than is not None}
    assert next(iter(found)) not in larger
    best = min(found, key=lambda name: found[name].merit or 0.0)
    assume(best not in larger)  # It says from where the share of preferences counts, whether it may win or not.
    after = answer([entry for entry in entries if entry.id not in larger], objective)
    by_id = {entry.id: entry for entry in entries}
    better = [by_id[name] for name in larger if _beats(by_id[name], by_id[after])]
    hourly = by_id[after].measures.usd_per_hour
    assert hourly is not None
    for_no_more = any((entry.measures.usd_per_hour or 0.0) <= hourly for entry in better)
    assert after == next(iter(found)) or for_no_more


@given(piece_choices, st.sampled_from([stated("cheapest"), stated("balanced")]))
@example([piecework("one", "a", 1, 110, 1), piecework("two", "a", 2, 102, 0.47, score=1)], stated("cheapest"))
@example([piecework("one", "a", 1, 102, 1), piecework("two", "a", 2, 102, 1, score=1)], stated("cheapest"))
def test_no_eligible_plan_is_a_smaller_one_of_the_answers_card_for_as_much(
    entries: list[Contender], objective: Objective
) -> None:
    found = standings(entries, objective)
    by_id = {entry.id: entry for entry in entries}
    first = by_id[next(iter(found))]
    for name, standing in found.items():
        other = by_id[name]
        if standing.eligible and other.plan.gpu.family == first.plan.gpu.family and other.plan.count < first.plan.count:
            assert other.measures.usd_per_hour is not None
            assert first.measures.usd_per_hour is not None
            costlier = (other.cost or 0) * (1 - objective.dominance_margin) >= (first.cost or 0)
            assert costlier or other.measures.usd_per_hour >= first.measures.usd_per_hour


def _beats(one: Contender, other: Contender) -> bool:
    if one.cost is None or other.cost is None or one.time is None or other.time is None:
        return False
    return one.cost < other.cost and one.time < other.time


@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=12), st.sampled_from([0.0, 0.05, 0.2]))
def test_dominance_is_that_of_every_pair(pairs: list[tuple[float, float]], margin: float) -> None:
    """The front is a short cut: whoever is beaten by anyone is found, and named is one that beats it."""
    entries = named([contender("x", cost, time) for cost, time in pairs])
    found = dominated_plans(entries, margin)
    for entry in entries:
        assert entry.cost is not None
        assert entry.time is not None
        beating = {
            other.id
            for other in entries
            if other.cost is not None
            and other.time is not None
            and other.cost <= entry.cost * (1 - margin)
            and other.time * (1 + margin) <= entry.time
            and (other.cost, other.time) != (entry.cost, entry.time)
        }
        if margin:
            assert (entry.id in found) == bool(beating)
            assert found.get(entry.id) in {None, *beating}
