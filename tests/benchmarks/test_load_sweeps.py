"""The measured sweeps: reading, facts, shares by family, errors of families kept apart."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from load.asking import predictions
from load.points import Point, facts_of, points
from load.scores import Score, held_out, scores_of, summary


@pytest.fixture(scope="module")
def every() -> list[Point]:
    return points()


def test_the_points_and_their_core(every):
    core = [point for point in every if point.core]
    assert len(every) == len({point.id for point in every}) == 449
    assert (len(core), len({point.family for point in core})) == (180, 7)
    assert all(point.row["load"]["kind"] == "closed" and point.precision for point in core)


def test_a_point_becomes_the_facts_of_a_workload(every, advisor):
    point = next(point for point in every if point.row["load"]["kind"] == "closed" and point.row["tp"] == 2)
    facts = facts_of(point)
    assert facts["concurrency"] == point.row["load"]["concurrency"]
    assert facts["tensor_parallel"] == 2
    answer = predictions([point], advisor)[point.id]
    assert not isinstance(answer, str)
    assert answer["tokens_per_s"] > 0


def test_a_rate_is_asked_as_a_rate(every):
    point = next(point for point in every if point.row["load"]["kind"] == "open")
    assert facts_of(point)["peak_qps"] == point.row["load"]["request_rate"]
    assert "concurrency" not in facts_of(point)


def test_time_per_token_is_never_the_gap_between_tokens(every):
    only_gaps = [p for p in every if not p.row["measured"]["tpot_ms"] and p.row["measured"]["itl_ms"]]
    assert only_gaps
    assert all(point.measured("tpot_ms") is None for point in only_gaps)


def test_families_weigh_the_same_however_many_points_they_have(every):
    big, small = (family for family, _ in (Counter(p.family for p in every).most_common()[::12]))
    of = {family: [point for point in every if point.family == family] for family in (big, small)}
    scores = [Score(point, "ttft_ms", 1.0, 1.0) for point in of[big]]
    scores += [Score(point, "ttft_ms", 1.0, 3.0) for point in of[small]]
    found = summary(scores)
    assert found
    assert (found.families, found.within_1_3, found.within_2) == (2, 0.5, 0.5)
    assert summary([]) is None


def test_a_family_is_scored_by_what_saw_no_point_of_it(every):
    seen: list[set[str]] = []

    def procedure(lessons):
        seen.append({point.family for point in lessons})
        mine = len(seen) - 1

        def predict(point):
            assert point.family not in seen[mine]
            return {"tokens_per_s": 2.0 * (point.measured("tokens_per_s") or 1.0)}

        return predict

    core = [point for point in every if point.core]
    scores = held_out(core, procedure, every)
    assert len(seen) == 7
    assert all(score.factor == pytest.approx(2.0) for score in scores)
    assert {score.point.family for score in scores} == {p.family for p in core if p.measured("tokens_per_s")}


def test_points_without_an_answer_have_no_score(every):
    assert scores_of(every[:5], lambda _: "too little is known") == []
