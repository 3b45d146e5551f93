"""What was computed for a job serves again under the same terms, and only then; plans come out the same."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.candidates import candidate_plans
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.sizing_cache import Terms, clear_sizing_cache, sizing_cache_of
from whichgpu.engine.sizing.demand import Demand, Targets
from whichgpu.engine.sizing.intake import job_from_facts


KNOWLEDGE = load_knowledge()
FACTS: Facts = {"task": "inference", "param_count_b": 7.0, "weight_precision": "bf16"}
JOB = job_from_facts(FACTS, None)
TERMS = Terms(JOB, Demand(capacity=True), desk=False, margin=True)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    clear_sizing_cache()


def test_the_same_job_made_again_finds_what_was_computed() -> None:
    first = sizing_cache_of(KNOWLEDGE, TERMS)
    assert sizing_cache_of(KNOWLEDGE, replace(TERMS, job=job_from_facts(FACTS, None))) is first
    clear_sizing_cache()
    assert sizing_cache_of(KNOWLEDGE, TERMS) is not first


@pytest.mark.parametrize(
    "other",
    [
        replace(TERMS, job=replace(JOB, concurrency=9)),
        replace(TERMS, demand=Demand(Targets(200.0, None, None), capacity=True)),
        replace(TERMS, demand=Demand(rate=2.0)),
        replace(TERMS, desk=True),
        replace(TERMS, margin=False),
    ],
)
def test_other_terms_start_anew(other: Terms) -> None:
    assert sizing_cache_of(KNOWLEDGE, other) is not sizing_cache_of(KNOWLEDGE, TERMS)


def test_only_a_few_jobs_are_kept() -> None:
    first = sizing_cache_of(KNOWLEDGE, TERMS)
    for requests in range(2, 12):
        sizing_cache_of(KNOWLEDGE, replace(TERMS, job=replace(JOB, concurrency=requests)))
    assert sizing_cache_of(KNOWLEDGE, TERMS) is not first


@pytest.mark.parametrize(
    "change",
    [
        {"deployment_site": "workstation"},
        {"deployment_site": "datacenter", "utilization_pct": 80.0},
        {"ttft_slo_ms": 300.0},
        {"peak_qps": 40.0},
        {"num_gpus": 4, "gpu_candidates": ("nvidia-l4",)},
        {"gpus_owned": ("nvidia-l4:4",), "rent_quote_usd_h": 1.0},
    ],
)
def test_plans_are_the_same_whether_anything_was_kept_or_not(change: Facts) -> None:
    facts = {**FACTS, **change}
    job = job_from_facts(facts, None)
    alone = [plan.facts for plan in candidate_plans(job, facts, KNOWLEDGE)]
    PlanMaker(JOB, FACTS, KNOWLEDGE)
    candidate_plans(JOB, FACTS, KNOWLEDGE)
    assert [plan.facts for plan in candidate_plans(job, facts, KNOWLEDGE)] == alone


def test_threads_do_not_share_what_is_being_computed() -> None:
    mine = sizing_cache_of(KNOWLEDGE, TERMS)
    found = []
    thread = threading.Thread(target=lambda: found.append(sizing_cache_of(KNOWLEDGE, TERMS)))
    thread.start()
    thread.join()
    assert found[0] is not mine
    assert sizing_cache_of(KNOWLEDGE, TERMS) is mine
