"""What is kept between variations of a workload changes no decision on them."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from whichgpu import Advisor
from whichgpu.engine.advisor import Outcome, Workload
from whichgpu.engine.core import InputError
from whichgpu.engine.explain.fact_changes import FactChange, probes
from whichgpu.engine.explain.gap import gap
from whichgpu.engine.explain.probing import probing_context
from whichgpu.engine.explain.watched_job import WatchedJob
from whichgpu.engine.explain.what_if import WhatIfSearch
from whichgpu.engine.interview import answered
from whichgpu.engine.rules import probing


MOMENT = datetime(2026, 6, 1, tzinfo=UTC)
SERVICE = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 16, "lifecycle_stage": "production"}
TUNING = {"task": "peft_finetuning", "param_count_b": 13, "peft_method": "lora", "train_tokens_b": 0.1}
#: Facts that rules on plans, plans, the cost, or only advice look at.
VARIED = (
    "lifecycle_stage",
    "utilization_pct",
    "deployment_site",
    "concurrency",
    "objective",
    "org_type",
    "traffic_level",
)


def seen(outcome: Outcome | None) -> Any:
    if outcome is None:
        return None
    judged = [(entry.ranked.plan.id, entry.ranked.score, entry.standing, entry.missing) for entry in outcome.judged]
    rejected = [(entry.plan.id, [rule.id for rule in entry.rules]) for entry in outcome.round.rejections]
    fired = [(item.rule.id, item.scope) for item in outcome.fired]
    costs = [entry.ranked.plan.cost for entry in outcome.judged]
    return judged, rejected, fired, costs, dict(outcome.final.facts), outcome.no_answer


@pytest.mark.parametrize("given", [SERVICE, TUNING])
def test_variations_are_decided_as_if_each_were_alone(advisor: Advisor, given: dict[str, Any]) -> None:
    search = WhatIfSearch(advisor, given, None, MOMENT, 100)
    chance = random.Random(3)
    base = search.outcome()
    assert base is not None
    for name in VARIED:
        fact, now = advisor.vocabulary.facts[name], base.intake.facts.get(name)
        changes = probes(fact, now, advisor.rulebook.rules, stated=name in given)
        for change in chance.sample(changes, min(2, len(changes))):
            facts = {key: value for key, value in given.items() if key != name}
            if change.after is not None:
                facts[name] = change.after
            with probing():
                try:
                    alone = advisor.decide(Workload(facts), decided_at=MOMENT).outcome
                except InputError:
                    alone = None
            assert seen(search.outcome((change,))) == seen(alone), change


def test_plans_are_made_again_only_for_facts_that_they_look_at(advisor: Advisor) -> None:
    search = WhatIfSearch(advisor, {**SERVICE, "cloud_tested": False}, None, MOMENT, 10)
    kept = search._context.kept
    search.outcome()
    search.outcome((FactChange("cloud_tested", False, True),))
    assert len(kept.every) == 1
    search.outcome((FactChange("concurrency", 16, 64),))
    assert len(kept.every) == 2


def test_plans_are_not_made_again_for_what_they_do_not_look_at_of_the_job(advisor: Advisor) -> None:
    search = WhatIfSearch(advisor, SERVICE, None, MOMENT, 10)
    search.outcome()
    search.outcome((FactChange("optimizer", None, "adafactor"),))
    assert len(search._context.kept.every) == 1


def test_stating_what_no_formula_asks_about_makes_no_plans(advisor: Advisor) -> None:
    search = WhatIfSearch(advisor, SERVICE, None, MOMENT, 10)
    search.outcome()
    search.answer((FactChange("lora_rank", None, 8),))
    assert len(search._context.kept.every) == 1


def test_of_names_that_a_job_holds_those_that_were_asked_for_count(advisor: Advisor) -> None:
    search = WhatIfSearch(advisor, SERVICE, None, MOMENT, 10)
    search.outcome()
    job = replace(search._context.kept.watched.job, unstated=frozenset({"output_tokens", "concurrency"}))
    watched = WatchedJob(job)
    assert "concurrency" in watched.watching.unstated
    assert watched.watching.unstated & {"output_tokens", "image_px"} == {"output_tokens"}
    assert watched.agrees_with(replace(job, unstated=job.unstated | {"context_tokens"}))
    assert not watched.agrees_with(replace(job, unstated=job.unstated - {"concurrency"}))
    assert not watched.agrees_with(replace(job, unstated=job.unstated | {"image_px"}))
    assert list(watched.watching.unstated)
    assert not watched.agrees_with(replace(job, unstated=job.unstated | {"context_tokens"}))


@pytest.mark.parametrize("given", [SERVICE, TUNING])
def test_an_answer_is_that_of_the_whole_decision(advisor: Advisor, given: dict[str, Any]) -> None:
    search = WhatIfSearch(advisor, given, None, MOMENT, 200)
    chance = random.Random(5)
    inputs = [fact for fact in advisor.vocabulary.facts.values() if fact.scope == "workload" and fact.role == "input"]
    base = search.outcome()
    assert base is not None
    for fact in chance.sample(inputs, 25):
        changes = probes(fact, base.intake.facts.get(fact.name), advisor.rulebook.rules, stated=fact.name in given)
        for change in chance.sample(changes, min(1, len(changes))):
            facts = {name: value for name, value in given.items() if name != fact.name}
            if change.after is not None:
                facts[fact.name] = change.after
            with probing():
                try:
                    alone = advisor.decide(Workload(facts), decided_at=MOMENT).outcome
                except InputError:
                    alone = None
            none = alone is None or (alone.no_answer is not None and alone.no_answer.kind == "contradictory")
            assert search.answer((change,)) == (None if none or alone is None else answered(alone)), change


def test_a_round_is_kept_apart_where_what_is_bought_stands_idle(advisor: Advisor) -> None:
    given = {"task": "peft_finetuning", "peft_method": "qlora", "param_count_b": 120, "deployment_site": "datacenter"}
    search = WhatIfSearch(advisor, given, None, MOMENT, 20)
    search.outcome()
    for name, value in (("utilization_pct", 100.0), ("gpu_hours_total", 0.0), ("procurement_wish", "rent")):
        alone = advisor.decide(Workload({**given, name: value}), decided_at=MOMENT).outcome
        assert search.answer((FactChange(name, None, value),)) == answered(alone), name


def test_a_rejected_gpu_is_as_far_off_without_the_others(advisor: Advisor) -> None:
    gpus = frozenset({"nvidia-t4"})
    given = {"task": "inference", "param_count_b": 120, "weight_precision": "fp16", "num_gpus": 1}
    search = WhatIfSearch(advisor, given, None, MOMENT, 20)
    for after in (120.0, 70.0, 3.0):
        change = FactChange("param_count_b", 120.0, after)
        whole, some = search.tried((change,)), search.tried((change,), gpus)
        assert gap(whole, gpus) == gap(some, gpus)
        assert (some.chosen is None) or some.chosen.ranked.plan.id == whole.chosen.ranked.plan.id  # type: ignore[union-attr]


def test_only_the_gpus_asked_for_are_planned(advisor: Advisor) -> None:
    context = probing_context(advisor.context, frozenset({"nvidia-l4"}))
    assert [gpu.id for gpu in context.knowledge.plannable] == ["nvidia-l4"]
    assert len(advisor.context.knowledge.plannable) > 1
