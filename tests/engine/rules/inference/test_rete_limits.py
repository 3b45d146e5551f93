"""The C engine's limits never reach the author of a rule."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from whichgpu.engine.core import FactTable
from whichgpu.engine.rules.inference.driver import BATCH, Session
from whichgpu.engine.rules.inference.firing import Level, confirm, fire
from whichgpu.engine.rules.language.tree import And, Compare, Const, FactRef, Member, Or


pytestmark = pytest.mark.usefixtures("durable")


def above(fact: str, limit: float) -> Compare:
    return Compare(">", FactRef(fact), Const(limit))


def agreed(rules, shared, fact_sets=({},)) -> list[frozenset[str]]:
    firing = fire(Level(rules), shared, fact_sets)
    assert firing.fired_by == "durable"
    return firing.matches


@pytest.mark.parametrize(("fact", "facts"), [("plan.n", {"plan.n": 5000.5}), ("n", {"n": 5000.5})])
def test_1056_rules_true_on_one_fact(rule_of, fact, facts):
    rules = [rule_of(f"r{limit}", above(fact, limit)) for limit in range(1056)]
    shared, fact_sets = (facts, [{}]) if fact == "n" else ({}, [facts, facts])
    assert all(len(matched) == 1056 for matched in agreed(rules, shared, fact_sets))


def test_rules_with_distinct_guards_all_up(rule_of):
    rules = [rule_of(f"r{limit}", above("n", limit), above("plan.n", limit)) for limit in range(400)]
    assert list(map(len, agreed(rules, {"n": 1000}, [{"plan.n": 1000}, {"plan.n": 200.5}]))) == [400, 201]
    assert list(map(len, agreed(rules, {"n": 10}, [{"plan.n": 1000}]))) == [10]


def test_more_than_512_distinct_tests(rule_of):
    rules = [
        rule_of(f"r{number}", Compare("==", FactRef("plan.word"), Const(f"word-{number}"))) for number in range(1300)
    ]
    fact_sets = [{"plan.word": f"word-{number}"} for number in (0, 511, 512, 1299, 1300)]
    assert agreed(rules, {}, fact_sets) == [frozenset({f"r{number}"}) for number in (0, 511, 512, 1299)] + [frozenset()]


def test_more_than_256_rules_on_one_test(rule_of):
    rules = [rule_of(f"r{number}", above("plan.n", 8)) for number in range(700)]
    assert list(map(len, agreed(rules, {}, [{"plan.n": 9}, {"plan.n": 8}, {}]))) == [700, 0, 0]


def test_300_fields(rule_of):
    rules = [rule_of(f"r{number}", above(f"plan.n{number}", 1), above(f"n{number}", 1)) for number in range(300)]
    shared = {f"n{number}": 2 for number in range(300)}
    facts = {f"plan.n{number}": number for number in range(300)}
    assert len(agreed(rules, shared, [facts])[0]) == 298


def test_one_rule_with_300_conditions(rule_of):
    rule = rule_of("wide", *(above(f"plan.n{number}", 1) for number in range(300)))
    facts = {f"plan.n{number}": 2 for number in range(300)}
    assert agreed([rule], {}, [facts, {**facts, "plan.n7": 1}]) == [frozenset({"wide"}), frozenset()]


def test_long_lists(rule_of):
    words = [f"gpu-{number}" for number in range(600)]
    rules = [
        rule_of("long", Member(FactRef("gpu.id"), tuple(words))),
        rule_of("not-long", Member(FactRef("gpu.id"), tuple(words), negated=True)),
        *(rule_of(f"r{start}", Member(FactRef("gpu.id"), tuple(words[start : start + 40]))) for start in range(560)),
    ]
    found = agreed(rules, {}, [{"gpu.id": "gpu-100"}, {"gpu.id": "gpu-599"}, {"gpu.id": "other"}, {}])
    assert [len(matched) for matched in found] == [41, 1, 1, 0]


def test_many_lists_in_one_rule(rule_of):
    lists = [Member(FactRef(f"gpu.w{number}"), ("a", "b", "c")) for number in range(25)]
    facts = {f"gpu.w{number}": "b" for number in range(25)}
    assert agreed([rule_of("r", *lists)], {}, [facts, {**facts, "gpu.w24": "d"}]) == [frozenset({"r"}), frozenset()]


def test_repeated_choices_fire_once(rule_of):
    rule = rule_of("r", Member(FactRef("gpu.w"), ("a", "a", "b", "a")))
    assert agreed([rule], {}, [{"gpu.w": "a"}]) == [frozenset({"r"})]


def test_alternatives_that_both_hold_fire_once(rule_of):
    both = Or((above("plan.n", 1), above("plan.n", 2), And((above("plan.n", 0), above("plan.m", 0)))))
    assert agreed([rule_of("r", both, both)], {}, [{"plan.n": 3, "plan.m": 1}]) == [frozenset({"r"})]


def test_more_fact_sets_than_a_batch(rule_of):
    rules = [rule_of("odd", Compare("==", FactRef("plan.odd"), Const(value=True)))]
    count = BATCH * 2 + 7
    found = agreed(rules, {}, [{"plan.odd": number % 2 == 1} for number in range(count)])
    assert [bool(matched) for matched in found] == [number % 2 == 1 for number in range(count)]


def test_identical_fact_sets_are_not_taken_for_one(rule_of):
    assert agreed([rule_of("r", above("plan.n", 1))], {}, [{"plan.n": 2}] * 50) == [frozenset({"r"})] * 50


def test_names_that_the_engine_reserves_or_cannot_read(rule_of):
    names = [
        "id",
        "sid",
        "$s",
        "last",
        "plan.id",
        "b0",
        "g0",
        "c0",
        "plan.a b",
        "plan.a-b",
        "plan.a_b",
        "ü",
        'plan."',
        "m",
        "$m",
    ]
    rules = [rule_of(f"r{number}", above(name, 1)) for number, name in enumerate(names)]
    for number, name in enumerate(names):
        local = "." in name
        found = agreed(rules, {} if local else {name: 2}, [{name: 2} if local else {}])
        assert found == [frozenset({f"r{number}"})]


def test_rules_without_conditions_always_match(rule_of):
    assert agreed([rule_of("r")], {}, [{}, {"plan.n": 1}]) == [frozenset({"r"})] * 2
    assert agreed([], {}, [{}]) == [frozenset()]
    assert agreed([rule_of("r")], {}, []) == []


def test_compiled_form_keeps_the_limits(generator):
    rulebook = generator(random.Random(3), facts=120, odd=0.0).rules(1500)
    rules = Counter[str]()
    for ruleset in Level(rulebook).durable().rulesets():
        groups = Counter(bucket.group for bucket in ruleset.buckets)
        fullest = max(len(bucket.units) for bucket in ruleset.buckets)
        assert len(groups) + max(groups.values()) + fullest <= 60
        assert len({bucket.flag for bucket in ruleset.buckets}) == len(ruleset.buckets)
        for bucket in ruleset.buckets:
            assert len(("id", "sid", *bucket.flags.split(",")[1:], *bucket.common, *bucket.own)) <= 250
            rules.update(unit.name for unit in bucket.units)
    assert {rules[f"r{number}"] for number in range(len(rulebook))} == {1}


def test_a_part_of_many_rules_is_a_gate(rule_of):
    rules = [rule_of(f"r{limit}", FactRef("serving"), above("n", limit), above("m", 0)) for limit in range(9)]
    rules += [rule_of(f"p{limit}", FactRef("serving"), above("n", limit), above("plan.n", limit)) for limit in range(9)]
    gates, *behind = Level(rules).durable().rulesets()
    assert [unit.name[0] for bucket in gates.buckets for unit in bucket.units] == ["h"]
    assert behind
    for serving, n, m in [(True, 5, 1), (True, 5, 0), (False, 5, 1), (None, 5, 1)]:
        shared = {"n": n, "m": m} | ({} if serving is None else {"serving": serving})
        found = agreed(rules, shared, [{"plan.n": 3}, {}])
        assert [*map(len, found)] == ([5 * m + 3, 5 * m] if serving else [0, 0])


def test_what_only_gpus_differ_in_is_fired_once_for_each(rule_of, monkeypatch):
    level = Level([rule_of("big", above("gpu.gb", 40)), rule_of("both", above("gpu.gb", 40), above("plan.count", 2))])
    gpus = FactTable.of([{"gpu.gb": size} for size in (24, 48, 80)])
    sent: list[str] = []
    real = Session.run
    monkeypatch.setattr(Session, "run", lambda self, facts: sent.extend(facts) or real(self, facts))
    for count in range(4):
        plans = FactTable.of([{"plan.count": count}] * 6).sharing(gpus, np.arange(6) % 3)
        evaluation = level.evaluate_table({}, plans)
        assert confirm(level, evaluation, range(6)) == "durable"
        assert [("big" in matched, "both" in matched) for matched in evaluation.matches[:3]] == [
            (False, False),
            (True, count > 2),
            (True, count > 2),
        ]
        assert len(sent) == 3 + 3 * (count + 1)  # Each GPU once, and once for each plan count.


def test_a_gpu_that_no_fact_can_tell_of(rule_of):
    level = Level([rule_of("big", above("gpu.gb", 40)), rule_of("named", Compare("==", FactRef("gpu.gb"), Const("x")))])
    gpus = FactTable.of([{"gpu.gb": size} for size in (24, 80, 1e300)])
    evaluation = level.evaluate_table({}, FactTable.of([{}] * 3).sharing(gpus, np.arange(3)))
    assert confirm(level, evaluation, range(3)) == "durable"
    assert [*map(len, evaluation.matches)] == [0, 1, 1]
