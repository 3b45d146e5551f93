"""The reference evaluator's verdicts on rules that did not match."""

from __future__ import annotations

import random

import pytest

from whichgpu.engine.rules.inference import reference
from whichgpu.engine.rules.inference.reference import ReferenceMatcher
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Const, FactRef, Known, Not, Or


TRAINING = FactRef("training")
MANY = Compare(">", FactRef("plan.count"), Const(8))
TIGHT = Compare(">", FactRef("plan.needed_gb"), Arith("*", FactRef("gpu.vram_gb"), Const(0.9)))


@pytest.fixture
def matcher(rule_of) -> ReferenceMatcher:
    return ReferenceMatcher(
        [
            rule_of("many", TRAINING, MANY),
            rule_of("tight", TIGHT),
            rule_of("workload", TRAINING),
            rule_of("either", Or((MANY, TIGHT))),
            rule_of("mixed", Compare("<=", FactRef("plan.count"), FactRef("max_count"))),
            rule_of("unsaid", Known(FactRef("budget"), negated=True)),
        ]
    )


def test_matches_each_fact_set(matcher):
    shared = {"training": True, "max_count": 8}
    plans = [
        {"plan.count": 16, "plan.needed_gb": 10, "gpu.vram_gb": 80},
        {"plan.count": 8, "plan.needed_gb": 79, "gpu.vram_gb": 80},
        {},
    ]
    assert matcher.match(plans, shared) == [
        {"many", "workload", "either", "unsaid"},
        {"tight", "workload", "either", "mixed", "unsaid"},
        {"workload", "unsaid"},
    ]


def test_outcome_is_three_valued(matcher):
    seen = matcher.evaluate([{"plan.count": 2}], {"training": True, "budget": 5})
    assert seen.outcomes() == {
        "either": None,
        "many": False,
        "mixed": None,
        "tight": None,
        "unsaid": False,
        "workload": True,
    }
    assert seen.outcome("many", 0) is False


def test_one_false_condition_dismisses_whatever_is_unknown(matcher, rule_of):
    seen = matcher.evaluate([{}], {"training": False})
    assert seen.outcome("many", 0) is False
    assert seen.verdict("many").outcome == "not_fired"
    assert matcher.evaluate([{"plan.count": 1}], {}).outcome("many", 0) is False
    assert matcher.evaluate([{"plan.count": 9}], {}).outcome("many", 0) is None


def test_verdict_names_the_first_false_condition_and_its_value(matcher):
    verdict = matcher.evaluate([{"plan.count": 4}], {"training": True}).verdict("many")
    assert (verdict.outcome, verdict.failed, verdict.value) == ("not_fired", "line 1", 4)
    two_facts = matcher.evaluate([{"plan.needed_gb": 1, "gpu.vram_gb": 80}], {}).verdict("tight")
    assert (two_facts.failed, two_facts.value) == ("line 0", None)


def test_verdict_names_the_missing_facts(matcher):
    seen = matcher.evaluate([{"gpu.vram_gb": 80, "plan.count": 2}], {})
    assert seen.verdict("tight").missing == ("plan.needed_gb",)
    assert seen.verdict("either").missing == ("plan.needed_gb",)
    assert seen.verdict("mixed").missing == ("max_count",)
    assert [verdict.rule for verdict in seen.verdicts()] == ["either", "many", "mixed", "tight", "unsaid", "workload"]
    assert seen.verdict("unsaid").outcome == "fired"


def test_common_conditions_are_evaluated_once(matcher, monkeypatch):
    calls = []
    real = reference.compile_expr

    def counting(expr):
        predicate = real(expr)

        def counted(facts):
            calls.append(expr)
            return predicate(facts)

        return counted

    monkeypatch.setattr(reference, "compile_expr", counting)
    matcher.match([{"plan.count": 9}] * 20, {"training": False})
    assert calls.count(TRAINING) == 1


def test_negations_reach_into_groups(rule_of):
    neither = Not(Or((TRAINING, And((MANY, Compare("==", FactRef("gpu.link"), Const("pcie")))))))
    matcher = ReferenceMatcher([rule_of("neither", neither)])
    found = matcher.match(
        [{"plan.count": 9, "gpu.link": "nvlink"}, {"plan.count": 9, "gpu.link": "pcie"}], {"training": False}
    )
    assert found == [{"neither"}, frozenset()]
    assert matcher.evaluate([{"plan.count": 9}], {"training": False}).outcome("neither", 0) is None


def test_order_of_rules_and_conditions_changes_nothing(generator, rule_of):
    dice = random.Random(2)
    made = generator(dice)
    rules = made.rules(60)
    shared, plans = made.values(("",), 0.2), [made.values(("plan.", "gpu."), 0.2) for _ in range(5)]
    before = ReferenceMatcher(rules).evaluate(plans, shared)
    shuffled = [rule_of(rule.id, *reversed([condition.expr for condition in rule.when])) for rule in reversed(rules)]
    after = ReferenceMatcher(shuffled).evaluate(list(reversed(plans)), dict(reversed(shared.items())))
    assert after.matches == list(reversed(before.matches))
    assert [after.outcomes(4 - index) for index in range(5)] == [before.outcomes(index) for index in range(5)]


def test_outcome_and_verdict_say_the_same(generator):
    made = generator(random.Random(9))
    matcher = ReferenceMatcher(made.rules(200))
    for _ in range(5):
        seen = matcher.evaluate([made.values(("plan.", "gpu."), 0.3)], made.values(("",), 0.3))
        words = {True: "fired", False: "not_fired", None: "undecided"}
        assert [words[outcome] for outcome in seen.outcomes().values()] == [
            verdict.outcome for verdict in seen.verdicts()
        ]
