"""The generated evaluator answers; durable-rules confirms, and where it differs that is reported and kept."""

from __future__ import annotations

import sys

import pytest

from whichgpu.engine.core.errors import InputError, InternalError
from whichgpu.engine.rules.inference import driver
from whichgpu.engine.rules.inference.differences import gathering_differences
from whichgpu.engine.rules.inference.driver import engine_status
from whichgpu.engine.rules.inference.firing import Level, fire, probing
from whichgpu.engine.rules.language.tree import Compare, Const, FactRef


class Tampering:
    """An engine that drops or adds a match."""

    def __init__(self, *, drop: str = "", add: str = "", on: int = 1) -> None:
        self.drop, self.add, self.on = drop, add, on

    def match(self, seen) -> list[frozenset[str]]:
        matches = [seen.evaluation.matches[row] for row in seen.rows]
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


RIGHT = [{"many", "pcie"}, {"many"}, frozenset()]


def fired(level, shared=SHARED, plans=PLANS, names=NAMES):
    """Who fired, what differed; the matches are right in any case."""
    with gathering_differences() as differences:
        firing = fire(level, shared, plans, names)
    assert firing.matches == RIGHT
    return firing.fired_by, differences


def test_agreement_gives_the_matches(rules):
    assert fired(Level(rules, Tampering())) == ("durable", [])


def test_a_dropped_match_is_reported_and_the_generated_evaluator_answers(rules):
    fired_by, (difference,) = fired(Level(rules, Tampering(drop="many")))
    assert fired_by == "generated"
    assert difference.what == "durable-rules did not fire many on 12 x h100"
    assert (difference.rule, difference.on) == ("many", "12 x h100")
    assert difference.facts == {"plan.count": 12, "training": True}


def test_an_added_match_is_reported_and_the_generated_evaluator_answers(rules):
    fired_by, (difference,) = fired(Level(rules, Tampering(add="pcie", on=2)), names=None)
    assert fired_by == "generated"
    assert difference.what == "durable-rules fired pcie on fact set 2"
    assert difference.facts == {}
    _, (nobody,) = fired(Level(rules, Tampering(add="nobody")))
    assert (nobody.rule, nobody.facts) == ("nobody", {})


def test_what_is_only_tried_is_fired_by_the_generated_evaluator_alone(rules):
    wrong = Level(rules, Tampering(drop="many"))
    with probing():
        assert fired(wrong) == ("generated", [])
    assert len(fired(wrong)[1]) == 1


def test_differences_need_not_be_gathered(rules):
    assert fire(Level(rules, Tampering(drop="many")), SHARED, PLANS).matches == RIGHT


def test_an_answer_for_too_few_plans_is_a_difference(rules):
    class Short(Tampering):
        def match(self, seen):
            return super().match(seen)[:-1]

    fired_by, (difference,) = fired(Level(rules, Short()))
    assert fired_by == "generated"
    assert difference.what == "durable-rules answered for 2 fact sets of 3"


def test_a_failing_engine_is_a_difference(rules):
    class Failing:
        def match(self, seen):
            raise InternalError("out of facts")

    fired_by, (difference,) = fired(Level(rules, Failing()))
    assert fired_by == "generated"
    assert difference.what == "durable-rules failed: out of facts"
    assert difference.rule is None


@pytest.mark.usefixtures("durable")
def test_durable_drops_a_match(rules, monkeypatch):
    """The real engine, with one firing lost on its way out."""
    level = Level(rules)
    assert fired(level) == ("durable", [])
    real = driver.Session.run
    monkeypatch.setattr(driver.Session, "run", lambda self, facts: real(self, facts)[:-1])
    fired_by, differences = fired(level)
    assert fired_by == "generated"
    assert differences


def test_without_durable_the_generated_evaluator_fires(rules, monkeypatch):
    for name in ("generated", "reference"):
        monkeypatch.setenv("WHICHGPU_ENGINE", name)
        assert fired(Level(rules)) == ("generated", [])
        assert engine_status().engine == "generated"
        assert engine_status().why_not == f"WHICHGPU_ENGINE={name} is set"


def test_an_engine_that_does_not_exist_is_refused_with_the_nearest(monkeypatch):
    for name in ("", "durable"):
        monkeypatch.setenv("WHICHGPU_ENGINE", name)
        assert engine_status().why_not is None or "WHICHGPU_ENGINE" not in engine_status().why_not
    monkeypatch.setenv("WHICHGPU_ENGINE", "generate")
    with pytest.raises(InputError, match="did you mean generated"):
        engine_status()


def test_status_says_why_durable_is_missing(monkeypatch):
    monkeypatch.delenv("WHICHGPU_ENGINE", raising=False)
    monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
    driver._extension.cache_clear()
    try:
        status = engine_status()
        assert status.engine == "generated"
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
