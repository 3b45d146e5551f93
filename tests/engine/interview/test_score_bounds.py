"""Score bounds: a leading plan without challengers stays the answer, whichever of the plans that may drop out do so."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from whichgpu.engine.advisor.choice import choose
from whichgpu.engine.advisor.contenders import Contenders, traits_of
from whichgpu.engine.advisor.losses import first_by_evidence
from whichgpu.engine.advisor.measures import MeasureColumns, Measures
from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.advisor.rank import Award, Objective, Ranked
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.interview.entrants import Comparer, Entrant, PossibleOutcome, WaitingRules, entrant_of
from whichgpu.engine.interview.possible_outcomes import OpenFacts
from whichgpu.engine.interview.rule_groups import RuleGroups
from whichgpu.engine.interview.scales import Scales
from whichgpu.engine.interview.score_bounds import Field, ScoreBounds
from whichgpu.engine.plans.model import Cost, Layout, Plan
from whichgpu.engine.rules.rulebook.resolve import Resolution


_FIGURES = st.one_of(st.none(), st.sampled_from([1.0, 1.04, 1.2, 1.5, 2.0, 2.5, 4.0]))


def judged_plan(
    name: str,
    figures: tuple[float | None, float | None],
    score: float,
    marks: tuple[bool, bool, bool] = (False, False, False),
    *,
    proven: bool = True,
    family: str | None = None,
    hourly: float | None = None,
    count: int = 1,
    roomy: bool = True,
    lateness: float = 1.0,
    qps: float | None = None,
    owned: bool = False,
    in_time: bool = False,
) -> Judged:
    gpu = Gpu(id=name, family=family or name, series=name, name=name, vendor="nvidia", vram_gb=24, segment="datacenter")
    facts: dict[str, Any] = {"plan.owned": owned}
    facts |= {} if hourly is None else {"plan.usd_per_hour": hourly}
    facts |= {} if qps is None else {"plan.qps": qps}
    plan = Plan(f"{name}x1", gpu, count, 1, "none", "none", Layout(), None, None, None, Cost(), None, "one card", facts)
    ranked = Ranked(plan, score, (Award("rule", "fit", score),), proven)
    fallbacks, cards, counts = (("rule",) if mark else () for mark in marks)
    measures = Measures(*figures, usd_per_hour=hourly, perceived_time=figures[1], lateness=lateness)
    missing = () if proven else ("plan.latency_ms",)
    facts = {"plan.meets_with_room": roomy} if in_time or not roomy else {}
    return Judged(ranked, facts, Resolution(()), missing, (), measures, fallbacks, cards, counts)


def chosen_of(judged: list[Judged], objective: Objective, *, due: bool = False) -> list[Judged]:
    marks = [[entry.ranked.proven for entry in judged]]
    marks += [[bool(getattr(entry, name)) for entry in judged] for name in ("fallbacks", "card_bands", "count_bands")]
    known = [entry.facts.get("plan.meets_with_room") for entry in judged]
    marks += [[meets is not False for meets in known], [due and meets is True for meets in known]]
    contenders = Contenders(
        traits_of([entry.ranked.plan for entry in judged]),
        MeasureColumns.of([entry.measures for entry in judged]),
        np.array([entry.ranked.score for entry in judged], np.float64),
        *(np.array(mark, np.bool_) for mark in marks),
    )
    found, ids = choose(contenders, objective), [entry.ranked.plan.id for entry in judged]
    return [replace(judged[row], standing=found.standing(row, ids)) for row in found.order.tolist()]


def bounds_of(ordered: list[Judged], leaving: set[str], objective: Objective, *, due: bool = False) -> ScoreBounds:
    scales = Scales(ordered, leaving, objective)

    def entrant(entry: Judged) -> Entrant:
        possible = PossibleOutcome(unproven=frozenset((not entry.ranked.proven,)))
        return entrant_of(
            entry, WaitingRules({}, {}, OpenFacts()), possible, terms=(0.0, 0.0), merits=scales.merits(entry)
        )

    entrants = {entry.ranked.plan.id: entrant(entry) for entry in ordered}
    answer = ordered[0].ranked.plan.id
    first = first_by_evidence(ordered[0], ordered).ranked.plan.id
    stand_in = entrants[answer] if first != answer else None
    leader = entrants.pop(first)
    behind = {name: frozenset((f"fact of {name}",)) for name in leaving}
    others, comparer = [*entrants.values()], Comparer(RuleGroups())
    return Field(leader, others, behind, comparer, objective, stand_in, due=due and not objective.stated).bounds()


def objective_of(*, stated: bool, cost: float = 1, time: float = 1, gain: float = 1) -> Objective:
    return Objective(
        "o",
        cost,
        time,
        gain,
        0.25,
        0.4,
        0.3,
        1,
        2,
        2,
        2,
        0.5,
        0.4,
        0,
        2,
        1.2,
        1.5,
        0.5,
        0.25,
        0.05,
        "",
        "",
        "",
        (),
        stated,
    )


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.tuples(_FIGURES, _FIGURES),
            st.sampled_from([-1.0, 0.0, 1.0, 2.0]),
            st.tuples(*[st.booleans()] * 3),
            st.booleans(),
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from([None, None, 1.0, 3.0]),
            st.sampled_from([1, 2]),
            st.sampled_from([True, True, False]),
            st.sampled_from([1.0, 1.0, 1.5, 4.0]),
            st.sampled_from([None, 1.0, 2.0]),
            st.sampled_from([False, False, True]),
            st.booleans(),
        ),
        min_size=2,
        max_size=7,
    ),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(1, 1, 1), (1, 0, 1), (0, 1, 1), (0, 1, 1.2), (1, 1, 2)]),
    st.sets(st.integers(1, 6), max_size=4),
)
def test_without_threats_the_front_runner_stays_whoever_drops_out(
    plans: list[
        tuple[
            tuple[float | None, float | None],
            float,
            tuple[bool, bool, bool],
            bool,
            str,
            float | None,
            int,
            bool,
            float,
            float | None,
            bool,
            bool,
        ]
    ],
    stated: bool,
    due: bool,
    exponents: tuple[float, float, float],
    places: set[int],
) -> None:
    objective = objective_of(stated=stated, cost=exponents[0], time=exponents[1], gain=exponents[2])
    judged = [
        judged_plan(
            f"gpu-{index}",
            figures,
            score,
            marks,
            proven=proven,
            family=family,
            hourly=hourly,
            count=count,
            roomy=roomy,
            lateness=lateness,
            qps=qps,
            owned=owned,
            in_time=in_time,
        )
        for index, (
            figures,
            score,
            marks,
            proven,
            family,
            hourly,
            count,
            roomy,
            lateness,
            qps,
            owned,
            in_time,
        ) in enumerate(plans)
    ]
    ordered = chosen_of(judged, objective, due=due)
    # That the first by evidence may drop out is looked at where the rounds are made (`at_risk`).
    first = ordered[0].standing.stands_in_for or ordered[0].ranked.plan.id
    leaving = {ordered[place].ranked.plan.id for place in places if place < len(ordered)} - {first}
    found = bounds_of(ordered, leaving, objective, due=due)
    open_challengers = [each for each in found.challengers if each.causes]
    if open_challengers:
        assert all(cause.startswith("fact of") for each in open_challengers for cause in each.causes)
        return
    for size in range(len(leaving) + 1):
        for gone in combinations(sorted(leaving), size):
            left = [entry for entry in ordered if entry.ranked.plan.id not in gone]
            assert chosen_of(left, objective, due=due)[0].ranked.plan.id == ordered[0].ranked.plan.id


def test_a_plan_that_a_sure_plan_beats_is_no_challenger() -> None:
    objective = objective_of(stated=False)
    leader = judged_plan("leader", (1.0, 1.0), 3)
    beaten = judged_plan("beaten", (2.0, 2.0), 9)
    ordered = chosen_of([leader, beaten], objective)
    assert ordered[0].ranked.plan.id == "leaderx1"
    assert not bounds_of(ordered, set(), objective).challengers


def test_a_plan_that_only_a_leaving_plan_beats_is_a_challenger() -> None:
    objective = objective_of(stated=False)
    plans = [
        judged_plan("leader", (1.6, 1.2), 3),
        judged_plan("beater", (1.0, 2.0), 1),
        judged_plan("beaten", (1.5, 4.0), 9),
    ]
    ordered = chosen_of(plans, objective)
    assert ordered[0].ranked.plan.id == "leaderx1"
    challengers = bounds_of(ordered, {"beaterx1"}, objective).challengers
    assert [(each.plan, set(each.causes)) for each in challengers] == [("beatenx1", {"fact of beaterx1"})]
    assert not [each for each in bounds_of(ordered, set(), objective).challengers if each.causes]


def test_a_costlier_plan_that_stands_in_since_it_is_far_sooner_is_a_threat_where_it_may_come_or_go() -> None:
    objective = objective_of(stated=False)
    named = judged_plan("named", (1.0, 4.0), 3, (False, True, False), qps=1.0)
    sooner = judged_plan("sooner", (1.2, 1.5), 1, qps=1.0)
    soonest = judged_plan("soonest", (1.2, 1.2), 1, qps=1.0)
    for plans, leaving in (([named, sooner], "soonerx1"), ([named, sooner, soonest], "soonestx1")):
        ordered = chosen_of(plans, objective)
        assert (ordered[0].ranked.plan.id, ordered[0].standing.stands_in_for) == (leaving, "namedx1")
        challengers = bounds_of(ordered, {leaving}, objective).challengers
        assert {f"fact of {leaving}"} in [set(each.causes) for each in challengers]


def test_what_has_room_is_a_threat_where_its_unknown_time_hangs_on_who_is_left() -> None:
    """An unknown time counts as the slowest known: without the slow plan that is the leader's own."""
    objective = objective_of(stated=True, cost=0, gain=1.2)
    unknown = judged_plan("unknown", (None, None), -1)
    leader = judged_plan("leader", (None, 1.0), 0, roomy=False)
    slow = judged_plan("slow", (None, 1.5), -1, proven=False)
    ordered = chosen_of([unknown, leader, slow], objective)
    assert ordered[0].ranked.plan.id == "leaderx1"
    assert chosen_of([unknown, leader], objective)[0].ranked.plan.id == "unknownx1"
    challengers = {each.plan: set(each.causes) for each in bounds_of(ordered, {"slowx1"}, objective).challengers}
    assert challengers["unknownx1"] == {"fact of slowx1"}


def test_a_count_that_only_another_plan_brings_in_may_cease_to_be_named() -> None:
    """One GPU stands in for two as long as guides name one: here for a plan that may drop out."""
    objective = objective_of(stated=False, gain=2)
    single = judged_plan("single", (None, None), -1, (False, False, True), proven=False)
    one = judged_plan("one", (1.0, 1.0), -1, (True, False, False), family="b")
    two = judged_plan("two", (1.0, 1.5), -1, (True, False, True), family="a", count=2)
    ordered = chosen_of([single, one, two], objective)
    assert (ordered[0].ranked.plan.id, ordered[0].standing.stands_in_for) == ("onex1", "twox1")
    assert chosen_of([one, two], objective)[0].ranked.plan.id == "twox1"
    assert {"fact of singlex1"} in [
        set(each.causes) for each in bounds_of(ordered, {"singlex1"}, objective).challengers
    ]


def test_what_is_far_cheaper_than_a_stand_in_may_take_its_place() -> None:
    objective = objective_of(stated=False)
    named = judged_plan("named", (140.0, 16.0), 3, (False, True, False), qps=30.0, hourly=102.0)
    beside = judged_plan("beside", (100.0, 13.7), 1, qps=30.0, hourly=75.0)
    far = judged_plan("far", (42.0, 20.3), 1, qps=30.0, hourly=32.0)
    ordered = chosen_of([named, beside], objective)
    assert ordered[0].ranked.plan.id == "besidex1"
    ordered = chosen_of([named, beside, far], objective)
    assert ordered[0].ranked.plan.id == "farx1"
    challengers = bounds_of(ordered, {"farx1"}, objective).challengers
    assert {"fact of farx1"} in [set(each.causes) for each in challengers]
