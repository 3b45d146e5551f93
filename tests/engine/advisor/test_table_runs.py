"""Rules on tables come to what they come to on the same facts one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.proof import missing_for_proof, wishes
from whichgpu.engine.advisor.stages import NOTHING, RuleSet
from whichgpu.engine.core.fact_table import FactTable
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.inference.differences import gathering_differences
from whichgpu.engine.rules.inference.durable import Seen
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.rulebook.model import Rule


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
WithRules = Callable[..., Advisor]
MakeRule = Callable[..., str]


@pytest.fixture(scope="module")
def plans(advisor: Advisor) -> tuple[dict[str, Any], list[dict[str, Any]], FactTable]:
    """A workload's facts, and those of its plans, as fact sets and as a table beside that of the GPUs."""
    facts = {"task": "inference", "model_name": "llama-3.1-70b", "budget_usd_per_hour": 9, "deadline_hours": 4}
    outcome = advisor.decide(facts, decided_at=MOMENT).outcome
    assert outcome.round is not None
    dice = random.Random(1)
    names = list(advisor.knowledge.gpu_facts)
    cards = FactTable.of([advisor.knowledge.gpu_facts[name] for name in names])
    own = [
        {name: value for name, value in plan.facts.items() if dice.random() < 0.9} for plan in outcome.round.plans[:120]
    ]
    which = np.array([names.index(plan.gpu.id) for plan in outcome.round.plans[:120]])
    fact_sets = [{**advisor.knowledge.gpu_facts[names[card]], **plan} for card, plan in zip(which, own, strict=True)]
    return dict(outcome.round.survey.facts), fact_sets, FactTable.of(own).sharing(cards, which)


@pytest.mark.parametrize("stage", ["reject", "prefer"])
def test_a_table_comes_to_what_its_rows_come_to(
    advisor: Advisor, plans: tuple[dict[str, Any], list[dict[str, Any]], FactTable], stage: str
) -> None:
    shared, fact_sets, table = plans
    rules: RuleSet = getattr(advisor.stages, stage)
    names = [str(number) for number in range(table.size)]
    rows, run = rules.run(shared, fact_sets, names), rules.run_table(shared, table)
    assert [run.resolution(row) for row in range(table.size)] == rows.resolutions
    assert run.fires.tolist() == [bool(resolution.fired) for resolution in rows.resolutions]
    assert run.columns() == {}
    assert len(run.groups) == len(set(run.groups)) <= table.size
    unstated = wishes(advisor.vocabulary)
    lacking = missing_for_proof(run.evaluation, unstated)
    assert bool(lacking) or stage == "prefer"
    assert missing_for_proof(rows.evaluation, unstated) == lacking
    for row in range(0, table.size, 17):
        one = rules.run(shared, [fact_sets[row]], ["one"])
        assert one.resolutions == [rows.resolutions[row]]
        assert missing_for_proof(one.evaluation, unstated).get(0) == missing_for_proof(run.evaluation, unstated).get(
            row
        )


def test_only_the_rows_to_confirm_are_fired_again(
    advisor: Advisor, plans: tuple[dict[str, Any], list[dict[str, Any]], FactTable]
) -> None:
    shared, fact_sets, table = plans
    fired: list[Any] = []

    class Losing:
        def match(self, seen: Seen) -> list[frozenset[str]]:
            fired.extend(seen.fact_sets)
            return [frozenset() for _ in seen.rows]

    rules = RuleSet(advisor.stages.prefer.rules, lambda some: Level(some, Losing()))
    with gathering_differences() as differences:
        run = rules.run_table(shared, table)
        assert (fired, differences) == ([], [])
        run.confirm([3, 50], ["three", "fifty"])
    assert len(fired) == 2
    for facts, row in zip(fired, (3, 50), strict=True):  # Of a plan's facts those that some rule reads.
        shared = {name: value for name, value in fact_sets[row].items() if name in facts}
        assert shared == {name: facts[name] for name in shared}
        assert shared["plan.gpu"] == fact_sets[row]["plan.gpu"]
    assert {difference.on for difference in differences} == {"three", "fifty"}
    assert {difference.rule for difference in differences} == run.groups[run.codes[3]] | run.groups[run.codes[50]]


@pytest.mark.skipif("not __import__('whichgpu.engine.rules').engine.rules.durable_available()")
def test_durable_rules_confirms_rows_of_a_table(
    advisor: Advisor, plans: tuple[dict[str, Any], list[dict[str, Any]], FactTable]
) -> None:
    shared, _, table = plans
    with gathering_differences() as differences:
        for rules in (advisor.stages.reject, advisor.stages.prefer):
            rules.run_table(shared, table).confirm(range(0, table.size, 3), list(map(str, range(0, table.size, 3))))
    assert differences == []


def test_what_rules_set_comes_as_columns(with_rules: WithRules, make_rule: MakeRule) -> None:
    text = make_rule("many", "derive", "plan.count > 4", "set: {plan.fabric: nvlink}")
    text += make_rule("few", "derive", "plan.count < 3", "set: {plan.fabric: none}")
    text += make_rule("two", "derive", "plan.count == 2", "set: {plan.fabric: pcie}")
    text += make_rule("more", "derive", "plan.nodes > 1", "set: {plan.copies: plan.nodes * 2}")
    own = {"scope": "plan", "available": "plan", "role": "derived"}
    facts = (FactDef(name="plan.fabric", type="text", **own), FactDef(name="plan.copies", type="int", **own))
    (rules,) = with_rules(text, *facts).stages.plan_levels
    fact_sets: list[dict[str, Any]] = [{"plan.count": 8}, {"plan.count": 2, "plan.nodes": 3}, {"plan.count": 1}, {}]
    run = rules.run_table({}, FactTable.of(fact_sets))
    columns = run.columns()
    assert [columns["plan.fabric"].at(row) for row in range(4)] == ["nvlink", None, "none", None]
    assert [columns["plan.copies"].at(row) for row in range(4)] == [None, 6, None, None]
    assert run.resolution(1).collisions[0].fact == "plan.fabric"
    assert run.group_fired[int(run.codes[1])] == ("few", "more", "two")
    rows = rules.run({}, fact_sets, ["a", "b", "c", "d"])
    assert [run.resolution(row) for row in range(4)] == rows.resolutions


def test_no_rules_and_no_rows_come_to_nothing(advisor: Advisor) -> None:
    def unused(_: tuple[Rule, ...]) -> Level:
        raise AssertionError

    run = RuleSet((), unused).run_table({}, FactTable(2, {}))
    assert (run.resolution(1), run.fires.tolist(), run.groups) == (NOTHING, [False, False], [frozenset()])
    none = advisor.stages.reject.run_table({}, FactTable(0, {}))
    assert (none.groups, none.fires.tolist(), none.columns()) == ([], [], {})
    none.confirm([], [])
