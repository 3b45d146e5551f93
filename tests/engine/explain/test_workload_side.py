"""What rules make of the facts of a workload, and which facts a verdict hangs on."""

from __future__ import annotations

import random
from typing import Any

from whichgpu import Advisor
from whichgpu.engine.explain.workload_side import WorkloadSide, facts_behind
from whichgpu.engine.rules import evaluate, facts_read


def _facts(advisor: Advisor, chance: random.Random) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, fact in advisor.vocabulary.facts.items():
        if fact.type == "bool":
            facts[name] = chance.random() < 0.5
        elif fact.type == "enum":
            facts[name] = chance.choice(fact.choices)
        elif fact.numeric:
            facts[name] = chance.choice((1, 5, 20, 100))
    return {name: value for name, value in facts.items() if chance.random() < 0.7}


def test_a_signature_tells_what_every_condition_comes_to(advisor: Advisor) -> None:
    rules = advisor.stages.prefer.rules
    conditions = [
        condition.expr
        for rule in rules
        for condition in rule.when
        if all("." not in name for name in facts_read(condition.expr))
    ]
    side, chance = WorkloadSide(rules), random.Random(1)
    found: dict[Any, list[Any]] = {}
    workloads = [_facts(advisor, chance) for _ in range(40)]
    for facts in [*workloads, *workloads]:  # The second time all of it is kept.
        came_to = [evaluate(expr, facts) for expr in conditions]
        assert found.setdefault(side.of(facts), came_to) == came_to


def test_a_verdict_hangs_on_what_decides_it(advisor: Advisor) -> None:
    last = [*advisor.stages.outcome.rules, *advisor.stages.outcome_of_chosen.rules]
    behind = facts_behind("procurement", last)
    assert {"procurement", "comparison_says", "utilization_pct", "org_type"} <= {*behind}
    assert "ttft_slo_ms" not in behind
    # Facts beside these change nothing of the verdict.
    resolver, chance = advisor.stages.outcome, random.Random(2)
    for _ in range(30):
        facts = _facts(advisor, chance)
        facts.pop("procurement", None)
        known = {name: value for name, value in facts.items() if name in behind}
        verdicts = [resolver.run(given).facts.get("procurement") for given in (facts, known)]
        assert verdicts[0] == verdicts[1]
