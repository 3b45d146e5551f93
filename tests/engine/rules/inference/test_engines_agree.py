"""Durable-rules, both forms of the generated evaluator and the oracle agree on random rulebooks and facts."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

from whichgpu.engine.core.fact_table import FactTable
from whichgpu.engine.rules.inference.durable import Seen
from whichgpu.engine.rules.inference.firing import Level, fire
from whichgpu.engine.rules.language.tree import Arith, Compare, Const, FactRef


pytestmark = pytest.mark.usefixtures("durable")


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    dice=st.randoms(use_true_random=False),
    rules=st.integers(1, 10),
    sets=st.integers(1, 4),
    odd=st.sampled_from([0, 0.05, 0.5]),
)
def test_small_rulebooks(generator, oracle, dice, rules, sets, odd):
    made = generator(dice, odd=odd, facts=3)
    rulebook = made.rules(rules)
    shared = made.values(("",), missing=dice.choice([0.0, 0.2, 0.7]))
    fact_sets = [made.values(("plan.", "gpu."), missing=dice.choice([0.0, 0.2, 0.7])) for _ in range(sets)]
    level = Level(rulebook)
    evaluation = level.evaluate(shared, fact_sets)
    matches = level.durable().match(Seen(evaluation, np.arange(sets), fact_sets))
    assert matches == oracle.matches(rulebook, fact_sets, shared)
    assert matches == evaluation.matches
    assert matches == [level.evaluate(shared, [facts]).matches[0] for facts in fact_sets]
    event(f"rules that fired: {min(sum(map(len, matches)), 10)}")
    for form in made.made:
        event(f"has {form}")


@pytest.mark.parametrize("seed", range(8))
def test_large_rulebooks(generator, seed):
    """Fixed seeds; prints what was generated (pytest -rP)."""
    dice = random.Random(seed)
    made = generator(dice, odd=0.02 if seed % 2 else 0.0, facts=[6, 12, 25, 40][seed % 4])
    rulebook = made.rules([600, 300, 450, 120][seed % 4], longest=3)
    level = Level(rulebook)
    fired = busiest = dismissed = undecided = 0
    for _ in range(3):
        shared = made.values(("",), missing=0.15)
        fact_sets = [made.values(("plan.", "gpu."), missing=0.15) for _ in range(12)]
        firing = fire(level, shared, fact_sets)
        assert firing.fired_by == "durable"
        assert firing.matches == level.evaluate_table(shared, FactTable.of(fact_sets)).matches
        fired += sum(map(len, firing.matches))
        busiest = max(busiest, *map(len, firing.matches))
        outcomes = [outcome for index in range(12) for outcome in firing.evaluation.outcomes(index).values()]
        dismissed += outcomes.count(False)
        undecided += outcomes.count(None)
        assert outcomes.count(True) == sum(map(len, firing.matches))
    rulesets = len(level.durable().rulesets())
    print(f"seed {seed}: {len(rulebook)} rules, {rulesets} rulesets")
    print(f"  {fired} firings, {busiest} on one fact set, {dismissed} dismissed, {undecided} undecided")
    print("  " + ", ".join(f"{form} {times}" for form, times in sorted(made.made.items())))
    assert fired > 300
    assert busiest >= 25
    assert dismissed > 300
    assert undecided > 300
    assert all(
        made.made[form] > 5 for form in ("or", "and", "not", "in", "has", "known", "arithmetic", "missing", "factor")
    )


def test_a_hundred_rules_true_on_one_fact(generator, oracle):
    dice = random.Random(5)
    made = generator(dice, odd=0.0)
    shared = made.values(("",), missing=0.0)
    facts = made.values(("plan.", "gpu."), missing=0.0)
    rulebook = made.rules(600, longest=2)
    true = [rulebook[int(rule.removeprefix("rule-"))] for rule in oracle.matches(rulebook, [facts], shared)[0]]
    assert len(true) >= 100
    firing = fire(Level(true), shared, [facts] * 3)
    assert firing.fired_by == "durable"
    assert len(firing.matches[2]) == len(true)


def test_values_at_the_boundary(rule_of):
    dice = random.Random(11)
    values = [dice.uniform(-1e6, 1e6) for _ in range(60)] + [
        dice.random() * 10.0 ** dice.randint(-12, 12) for _ in range(60)
    ]
    operators = ["==", "!=", "<", "<=", ">", ">="]
    rules = [
        rule_of(f"{op} {value!r}", Compare(op, FactRef("plan.a"), Const(value)))
        for value in values[::4]
        for op in operators
    ]
    factors = [1.2, 0.1, 3, 1.05]
    rules += [
        rule_of(f"{op} x {factor}", Compare(op, FactRef("plan.a"), Arith("*", FactRef("plan.b"), Const(factor))))
        for factor in factors
        for op in operators
    ]
    fact_sets = [{"plan.a": value * factor, "plan.b": value} for value in values for factor in (1, *factors)]
    firing = fire(Level(rules), {}, fact_sets)
    assert firing.fired_by == "durable"
    assert sum(map(len, firing.matches)) > 10_000
