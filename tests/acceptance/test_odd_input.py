"""Odd input: whatever is stated within its domain, the answer is a plan, or says in words why there is none.

Only facts that contradict the catalogue's figures of the model that they name get no answer, but a fix.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jsonschema_rs
import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.rules.facts.model import FactDef


SAMPLES = 60
#: Few facts, a usual questionnaire, far too many.
MOST_FACTS = (4, 12, 40)


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema_of("decision_line", closed=True))


def any_value(chance: random.Random, fact: FactDef, gpus: list[str], models: list[str]) -> object:
    """A value of the fact's domain: often small, now and then at its ends."""
    if fact.type in {"number", "int"}:
        low = float(fact.min if fact.min is not None else fact.exclusive_min or 0)
        high = float(fact.max if fact.max is not None else 1e6)
        drawn = chance.choice([low, high, low + (high - low) * 10 ** chance.uniform(-6, 0), chance.uniform(low, high)])
        if fact.exclusive_min is not None:
            drawn = max(drawn, fact.exclusive_min + 0.01)
        return max(int(drawn), int(low)) if fact.type == "int" else drawn
    if fact.type == "bool":
        return chance.random() < 0.5
    if fact.type == "enum":
        return chance.choice(sorted(fact.choices))
    if fact.type == "gpu":
        return chance.choice(gpus)
    if fact.type == "list" and fact.items == "gpu_count":
        return [{"gpu": chance.choice(gpus), "count": chance.randint(1, 8)}]
    if fact.type == "list":
        return chance.sample(gpus, 3) if fact.items == "gpu" else ["somewhere"]
    return chance.choice(models) if fact.name == "model_name" else "something"


def any_workload(chance: random.Random, advisor: Advisor) -> dict[str, object]:
    """Some facts that a user can state, with values that know nothing of each other."""
    facts = advisor.vocabulary.facts
    stated = sorted(name for name, fact in facts.items() if fact.role != "output" and fact.scope == "workload")
    gpus, models = sorted(advisor.knowledge.gpus), sorted(advisor.knowledge.models)
    names = chance.sample(stated, chance.randint(1, chance.choice(MOST_FACTS)))
    if chance.random() < 0.8:
        names = [*names, "task"]
    return {name: any_value(chance, facts[name], gpus, models) for name in names}


def answer_to(facts: dict[str, object], decide: Callable[..., Decision]) -> dict[str, Any] | None:
    """The answer; None where the facts contradict what the catalogue says of the model that they name."""
    try:
        return decide(facts).to_dict(full=False)
    except InputError as error:
        for problem in error.problems:
            assert problem.code == "contradicts-the-model"
            assert {"model_name", problem.fact} <= set(facts)
            assert problem.fix
        return None


@pytest.mark.parametrize("seed", range(SAMPLES))
def test_odd_facts_get_a_plan_or_a_reason(
    seed: int, advisor: Advisor, decide: Callable[..., Decision], validator: jsonschema_rs.Draft202012Validator
) -> None:
    answer = answer_to(any_workload(random.Random(seed), advisor), decide)
    if answer is None:
        return
    validator.validate(answer)
    if answer["recommendation"] is None:
        assert answer["no_answer"]["kind"] in {"nothing_fits", "facts_missing", "contradictory"}
        assert len(answer["no_answer"]["why"].split()) >= 4
    else:
        assert answer["no_answer"] is None
        assert answer["recommendation"]["count"] >= 1


def test_odd_facts_end_in_every_way(advisor: Advisor, decide: Callable[..., Decision]) -> None:
    """The samples reach plans as well as each kind of refusal, so that the test above means something."""
    ends = set()
    for seed in range(SAMPLES):
        answer = answer_to(any_workload(random.Random(seed), advisor), decide)
        ends.add("refused" if answer is None else answer["no_answer"]["kind"] if answer["no_answer"] else "plan")
    assert {"plan", "facts_missing", "nothing_fits"} <= ends
