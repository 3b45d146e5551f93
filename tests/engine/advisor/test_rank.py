"""Evidence as points: the strongest rule per reason counts, a claim only where nothing is computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whichgpu.engine.advisor.rank import Award, Preferences, cost_points, speed_points
from whichgpu.engine.core import Numbers
from whichgpu.engine.rules.rulebook.effects import Fallback, Points
from whichgpu.engine.rules.rulebook.model import Band, Claim, Effect, Rule


def rule_of(name: str, *effects: Effect) -> Rule:
    return Rule(name, name, "prefer", "plan", (), effects, "", "", ("guide",))


def points_rule(name: str, points: float, reason: str, claim: Claim | None = None, band: Band | None = None) -> Rule:
    return rule_of(name, Points(points, reason, claim, band))


def awards_of(rules: list[Rule], *, figures_known: bool) -> list[Award]:
    return Preferences(rules).awards(sorted(rule.id for rule in rules), figures_known=figures_known)


def test_only_the_strongest_award_of_a_reason_counts() -> None:
    rules = [points_rule("a", 2, "fit"), points_rule("b", 4, "fit"), points_rule("c", 1, "speed")]
    awards = awards_of(rules, figures_known=True)
    assert [(a.rule, a.counted) for a in awards] == [("a", False), ("b", True), ("c", True)]


def test_an_award_against_stands_beside_one_for_the_same_reason() -> None:
    rules = [points_rule("a", 4, "fit"), points_rule("b", -2, "fit"), points_rule("c", -1, "fit")]
    assert sum(a.points for a in awards_of(rules, figures_known=True) if a.counted) == 2


def test_equal_awards_count_once_and_the_lower_id_speaks() -> None:
    awards = awards_of([points_rule("b", 2, "fit"), points_rule("a", 2, "fit")], figures_known=True)
    assert [(a.rule, a.counted) for a in awards] == [("a", True), ("b", False)]


def test_a_claim_counts_only_where_nothing_is_computed() -> None:
    rules = [points_rule("claimed", 6, "speed", Claim("speed")), points_rule("plain", 2, "speed")]
    known = awards_of(rules, figures_known=True)
    assert [(a.rule, a.counted, a.checked) for a in known] == [("claimed", False, True), ("plain", True, False)]
    unknown = awards_of(rules, figures_known=False)
    assert [(a.rule, a.counted, a.checked) for a in unknown] == [("claimed", True, False), ("plain", False, False)]


def test_rules_without_points_award_nothing() -> None:
    assert awards_of([rule_of("a", Fallback("a last choice"))], figures_known=True) == []


def test_a_band_names_only_where_its_points_are_for_the_plan() -> None:
    rules = [
        points_rule("cards", 3, "fit", band="cards"),
        points_rule("counts", 3, "scale", band="counts"),
        points_rule("against", -3, "fit", band="cards"),
        points_rule("plain", 3, "fit"),
    ]
    assert Preferences(rules).band([rule.id for rule in rules], "cards") == ("cards",)
    assert Preferences(rules).band([rule.id for rule in rules], "counts") == ("counts",)


def test_fallbacks_are_found_by_rule() -> None:
    rules = [rule_of("last", Fallback("only without others"), Points(-2, "fit")), points_rule("plain", 3, "fit")]
    assert Preferences(rules).fallbacks([rule.id for rule in rules]) == ("last",)


def points(values: Numbers) -> list[float]:
    return [pytest.approx(value, nan_ok=True) for value in values.tolist()]


def test_doubling_the_cost_weighs_the_stated_points() -> None:
    assert cost_points(np.array([4.0, 2.0, 0.0]), 2, weight=2.0).tolist() == points(np.array([-2.0, 0.0, np.nan]))


def test_without_any_known_cost_nothing_is_weighed() -> None:
    assert np.isnan(cost_points(np.array([4.0]), None, weight=2.0)).all()


def test_half_the_speed_costs_the_stated_points() -> None:
    assert speed_points(np.array([50.0]), 100, 10, weight=3.0).tolist() == points(np.array([-3.0]))
    assert np.isnan(speed_points(np.array([50.0]), 100, 10, weight=0)).all()
    assert np.isnan(speed_points(np.array([50.0]), None, None, weight=3.0)).all()


def test_an_unknown_speed_counts_as_the_slowest() -> None:
    assert speed_points(np.array([np.nan]), 100, 25, weight=1.0).tolist() == points(np.array([math.log2(0.25)]))
