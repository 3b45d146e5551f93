"""The C engine under our driver: errors surface, nothing leaks, nothing hangs."""

from __future__ import annotations

import gc
import random
import threading

import pytest

from whichgpu.engine.core.errors import InternalError
from whichgpu.engine.rules.inference.differences import gathering_differences
from whichgpu.engine.rules.inference.driver import BATCH, Session
from whichgpu.engine.rules.inference.firing import Level, fire
from whichgpu.engine.rules.inference.rulesets import numbers_of
from whichgpu.engine.rules.language.tree import Compare, Const, FactRef


pytestmark = pytest.mark.usefixtures("durable")

RULE = '"r":{"all":[{"m":{"$gt":{"n":5}}}],"cap":1000}'


def test_fires_and_forgets():
    session = Session("s", [RULE])
    assert session.run(['{"id":"000","n":9}', '{"id":"001","n":4}']) == [("r", '{"r":[{"m":{"id":"000","n":9}}]}')]
    assert session.run(['{"id":"001","n":4}']) == []
    assert session.run([]) == []


def test_a_dropped_tail_of_a_batch_is_noticed():
    session = Session("s", [RULE])
    with pytest.raises(InternalError, match="dropped facts"):
        session.run(['{"id":"000","n":1e5}', '{"id":"001","n":9}'])
    assert [name for name, _ in session.run(['{"id":"000","n":9}'])] == ["r"]


def test_two_facts_of_one_id_are_noticed():
    session = Session("s", [RULE])
    with pytest.raises(InternalError, match="for one"):
        session.run(['{"id":"000","n":9}', '{"id":"000","n":9}'])
    assert len(session.run(['{"id":"000","n":9}', '{"id":"001","n":9}'])) == 1


def test_the_engines_own_error_is_reported_and_survived():
    pending = [f'"r{number}":{{"all":[{{"m":{{"$gt":{{"n":{number}}}}}}}],"cap":1000}}' for number in range(80)]
    session = Session("s", pending)
    for _ in range(3):
        with pytest.raises(InternalError, match="error code: 303"):
            session.run(['{"id":"000","n":500}'])
        assert len(session.run(['{"id":"000","n":9}'])) == 9


def test_a_refused_ruleset_is_reported():
    with pytest.raises(InternalError, match="refuses the ruleset bad"):
        Session("bad", ['"r":{"all":[{"m":{"$in":{"n":5}}}]}'])


def test_endless_firing_is_stopped():
    class Stuck:
        error = RuntimeError

        def __getattr__(self, name):
            message = '{"r":[]}'
            answers = {
                "assert_facts": (0, 1),
                "start_action_for_state": ("{}", message),
                "complete_and_start_action": message,
            }
            return lambda *_: answers.get(name)

    session = Session("s", [RULE])
    session._engine = Stuck()
    with pytest.raises(InternalError, match="more often than it has rules"):
        session.run(['{"id":"000","n":9}'])


def test_too_large_a_batch_is_refused():
    with pytest.raises(InternalError, match="at most"):
        Session("s", [RULE]).run(['{"id":"000","n":9}'] * BATCH)


def test_a_second_firing_on_one_fact_is_an_internal_error():
    good = '{"r":[{"m":{"id":"007"}},{"m":{"id":"008"}}]}'
    assert numbers_of("r", good) == [7, 8]
    with pytest.raises(InternalError, match="twice"):
        numbers_of("r", good.replace("008", "007"))
    for strange in (good + " ", good.replace("r", "q"), good.replace("008", "x08"), '{"r":[]}'):
        with pytest.raises(InternalError, match="unknown form"):
            numbers_of("r", strange)


def test_ids_of_a_batch_have_distinct_hashes():
    """Two ids of one 32-bit FNV hash would be one fact to the engine."""
    hashes = set()
    for number in range(BATCH):
        value = 2166136261
        for letter in f"{number:03}".encode():
            value = ((value ^ letter) * 16777619) % 2**32
        hashes.add(value)
    assert len(hashes) == BATCH


def test_threads_share_a_level(rule_of):
    level = Level([rule_of(f"r{number}", Compare(">", FactRef("plan.n"), Const(number))) for number in range(40)])
    wrong: list[int] = []

    def decide(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(40):
            n = dice.randrange(50)
            if len(fire(level, {}, [{"plan.n": n}]).matches[0]) != min(n, 40):
                wrong.append(n)

    threads = [threading.Thread(target=decide, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_500_decisions_in_flat_memory(generator, flat_memory):
    made = generator(random.Random(1), odd=0.01, facts=8)
    level = Level(made.rules(120))
    cases = [(made.values(("",), 0.1), [made.values(("plan.", "gpu."), 0.1) for _ in range(6)]) for _ in range(20)]
    for shared, plans in cases * 3:
        fire(level, shared, plans)
    with flat_memory(2_000):
        for number in range(500):
            fire(level, *cases[number % 20])


def test_dropped_levels_are_freed(generator, flat_memory):
    made = generator(random.Random(1), odd=0.0, facts=8)
    rules = made.rules(60)
    shared, plans = made.values(("",), 0.1), [made.values(("plan.", "gpu."), 0.1)]
    for _ in range(20):
        fire(Level(rules), shared, plans)
    gc.collect()
    with flat_memory(6_000):
        for _ in range(100):
            fire(Level(rules), shared, plans)
        gc.collect()


def test_facts_of_another_kind_go_to_the_generated_evaluator(rule_of, oracle):
    rules = [
        rule_of("n", Compare(">=", FactRef("plan.n"), Const(80))),
        rule_of("s", Compare("==", FactRef("s"), Const("80"))),
    ]
    fact_sets = [{"plan.n": 10**30}, {"plan.n": 80}, {"plan.n": float("inf")}, {"plan.n": 79}]
    for shared in ({"s": "80"}, {"s": 80}):
        with gathering_differences() as differences:
            firing = fire(Level(rules), shared, fact_sets)
        assert (firing.fired_by, differences) == ("durable", [])
        assert firing.matches == oracle.matches(rules, fact_sets, shared)
