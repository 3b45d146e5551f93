"""Ranking: the strongest rule per reason counts, cost and speed weigh by doublings, ties never depend on order."""

from __future__ import annotations

import itertools
import math

import pytest

from engine.decide.rank import Award
from engine.decide.rank import Ranked
from engine.decide.rank import cost_term
from engine.decide.rank import rank
from engine.decide.rank import speed_term
from engine.decide.rank import strongest_per_reason
from engine.knowledge.model import Gpu
from engine.plans.model import Cost
from engine.plans.model import Layout
from engine.plans.model import Plan
from engine.rulebook.model import Points
from engine.rulebook.model import Rule


def points_rule(name: str, points: float, reason: str) -> Rule:
    return Rule(name, name, "prefer", "plan", (), (Points(points, reason),), "", "", ("guide",))


def plan(name: str, count: int = 1, vram: float = 24) -> Plan:
    gpu = Gpu(id=name, family=name, series=name, name=name, vendor="nvidia", vram_gb=vram)
    return Plan(f"{name}x{count}", gpu, count, 1, "none", "none", Layout(), None, None, None, Cost(), None, "one card")


def test_only_the_strongest_award_of_a_reason_counts() -> None:
    awards = strongest_per_reason(
        [points_rule("a", 2, "fit"), points_rule("b", 4, "fit"), points_rule("c", 1, "speed")]
    )
    assert [(a.rule, a.counted) for a in awards] == [("a", False), ("b", True), ("c", True)]


def test_an_award_against_stands_beside_one_for_the_same_reason() -> None:
    awards = strongest_per_reason(
        [points_rule("a", 4, "fit"), points_rule("b", -2, "fit"), points_rule("c", -1, "fit")]
    )
    assert sum(a.points for a in awards if a.counted) == 2


def test_equal_awards_count_once_and_the_lower_id_speaks() -> None:
    awards = strongest_per_reason([points_rule("b", 2, "fit"), points_rule("a", 2, "fit")])
    assert [(a.rule, a.counted) for a in awards] == [("a", True), ("b", False)]


def test_doubling_the_cost_weighs_the_stated_points() -> None:
    assert cost_term(4, 2, 8, weight=2.0) == Award(None, "cost", -2.0)
    assert cost_term(2, 2, 8, weight=2.0) == Award(None, "cost", 0.0)


def test_an_unknown_cost_counts_as_the_dearest_and_says_so() -> None:
    assert cost_term(None, 2, 8, weight=1.0) == Award(None, "cost unknown", -2.0)


def test_without_any_known_cost_nothing_is_weighed() -> None:
    assert cost_term(None, None, None, weight=2.0) is None


def test_half_the_speed_costs_the_stated_points() -> None:
    term = speed_term(50, 100, 10, weight=3.0)
    assert term is not None
    assert term.points == pytest.approx(-3.0)
    assert speed_term(50, 100, 10, weight=0) is None


def test_an_unknown_speed_counts_as_the_slowest() -> None:
    term = speed_term(None, 100, 25, weight=1.0)
    assert term is not None
    assert (term.reason, term.points) == ("speed unknown", pytest.approx(math.log2(0.25)))


def test_order_is_the_same_whatever_order_the_plans_come_in() -> None:
    entries = [
        Ranked(plan("b"), 1.0, (), proven=True),
        Ranked(plan("a"), 1.0, (), proven=True),
        Ranked(plan("c", 2), 1.0, (), proven=True),
        Ranked(plan("d", vram=16), 1.0, (), proven=True),
        Ranked(plan("e"), 9.0, (), proven=False),
    ]
    orders = {tuple(r.plan.id for r in rank(shuffled)) for shuffled in itertools.permutations(entries)}
    assert orders == {("dx1", "ax1", "bx1", "cx2", "ex1")}
