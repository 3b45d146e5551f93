"""Both engines must agree; without durable-rules the reference fires."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from whichgpu.engine.core.errors import InternalError
from whichgpu.engine.rules.inference import driver
from whichgpu.engine.rules.inference.firing import Level, engine_status, fire, probing
from whichgpu.engine.rules.inference.reference import ReferenceMatcher
from whichgpu.engine.rules.language.tree import Compare, Const, FactRef


class Tampering:
    """An engine that drops or adds a match."""

    def __init__(self, rules, *, drop: str = "", add: str = "", on: int = 1) -> None:
        self.reference = ReferenceMatcher(rules)
        self.drop, self.add, self.on = drop, add, on

    def match(self, fact_sets: Sequence, shared, evaluation=None) -> list[frozenset[str]]:
        matches = self.reference.match(fact_sets, shared)
        matches[self.on] = (matches[self.on] | ({self.add} - {""})) - {self.drop}
        return matches


@pytest.fixture
def rules(rule_of):
    return [
        rule_of("many", Compare(">", FactRef("plan.count"), Const(8)), FactRef("training")),
        rule_of("pcie", Compare("==", FactRef("plan.link"), Const("pcie"))),
    ]


SHARED = {"training": True}
PLANS = [{"plan.count": 16, "plan.link": "pcie"}, {"plan.count": 12, "plan.link": "nvlink"}, {"plan.count": 1}]
NAMES = ["16 x t4", "12 x h100", "1 x h100"]


def test_agreement_gives_the_matches(rules):
    firing = fire(Level(rules, Tampering(rules)), SHARED, PLANS, NAMES)
    assert firing.matches == [{"many", "pcie"}, {"many"}, frozenset()]
    assert firing.fired_by == "durable"


def test_a_dropped_match_is_an_internal_error(rules):
    with pytest.raises(InternalError) as error:
        fire(Level(rules, Tampering(rules, drop="many")), SHARED, PLANS, NAMES)
    message = str(error.value)
    assert "rule many did not fire, and must on 12 x h100" in message
    assert "plan.count = 12, training = True" in message


def test_what_is_only_tried_is_fired_by_the_reference_alone(rules):
    wrong = Level(rules, Tampering(rules, drop="many"))
    with probing():
        firing = fire(wrong, SHARED, PLANS, NAMES)
    assert firing.matches == [{"many", "pcie"}, {"many"}, frozenset()]
    assert firing.fired_by == "reference"
    with pytest.raises(InternalError):
        fire(wrong, SHARED, PLANS, NAMES)


def test_an_added_match_is_an_internal_error(rules):
    with pytest.raises(InternalError, match=r"rule pcie fired, and must not on fact set 2: plan\.link unknown"):
        fire(Level(rules, Tampering(rules, add="pcie", on=2)), SHARED, PLANS)
    with pytest.raises(InternalError, match="rule nobody fired, and must not on fact set 2: no such rule"):
        fire(Level(rules, Tampering(rules, add="nobody", on=2)), SHARED, PLANS)


def test_an_answer_for_too_few_plans_is_an_internal_error(rules):
    class Short(Tampering):
        def match(self, fact_sets, shared, evaluation=None):
            return self.reference.match(fact_sets, shared)[:-1]

    with pytest.raises(InternalError, match="2 fact sets answered of 3"):
        fire(Level(rules, Short(rules)), SHARED, PLANS)


def test_many_differences_are_counted(rules):
    class Blind(Tampering):
        def match(self, fact_sets, shared, evaluation=None):
            return [frozenset() for _ in fact_sets]

    with pytest.raises(InternalError, match=r"\(and 97 more\)"):
        fire(Level(rules, Blind(rules)), SHARED, [PLANS[0]] * 50)


@pytest.mark.usefixtures("durable")
def test_durable_drops_a_match_and_the_answer_is_refused(rules, monkeypatch):
    """The real engine, with one firing lost on its way out."""
    level = Level(rules)
    assert fire(level, SHARED, PLANS).fired_by == "durable"
    real = driver.Session.run
    monkeypatch.setattr(driver.Session, "run", lambda self, facts: real(self, facts)[:-1])
    with pytest.raises(InternalError, match="did not fire, and must"):
        fire(level, SHARED, PLANS)


def test_without_durable_the_reference_fires(rules, monkeypatch):
    monkeypatch.setenv("WHICHGPU_ENGINE", "reference")
    firing = fire(Level(rules), SHARED, PLANS)
    assert firing.fired_by == "reference"
    assert firing.matches == [{"many", "pcie"}, {"many"}, frozenset()]
    assert engine_status().engine == "reference"
    assert engine_status().why_not == "WHICHGPU_ENGINE=reference is set"


def test_status_says_why_durable_is_missing(monkeypatch):
    monkeypatch.delenv("WHICHGPU_ENGINE", raising=False)
    monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
    driver._extension.cache_clear()
    try:
        status = engine_status()
        assert status.engine == "reference"
        assert "3.13" in status.why_not or "C compiler" in status.why_not
        with pytest.raises(InternalError, match="not available"):
            driver.Session("x", [])
    finally:
        driver._extension.cache_clear()


@pytest.mark.usefixtures("durable")
def test_status_names_the_version():
    status = engine_status()
    assert (status.engine, status.version, status.why_not) == ("durable", "2.0.28", None)


def test_the_same_level_serves_many_decisions(rules):
    level = Level(rules)
    for count in range(20):
        firing = fire(level, {"training": count % 2 == 0}, [{"plan.count": count}])
        assert firing.matches == [{"many"} if count > 8 and count % 2 == 0 else frozenset()]
        assert firing.evaluation.facts_of(0)["plan.count"] == count


def test_a_level_of_workload_rules(rule_of):
    level = Level([rule_of("a", FactRef("training")), rule_of("b", Compare("<", FactRef("n"), Const(3)))])
    firing = fire(level, {"training": True})
    assert firing.matches == [{"a"}]
    assert firing.evaluation.verdict("b").missing == ("n",)
