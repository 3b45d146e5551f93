"""Laws of whole decisions, on workloads that hypothesis makes up.

A decision costs some 10 ms, so these run a fifth of the examples that the profile asks for elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from typing import Any

import pytest
from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from engine.decide.model import Outcome
from engine.expertise import Expertise
from engine.expertise import shipped_expertise
from engine.knowledge import with_offers


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FEW = settings(max_examples=max(5, settings().max_examples // 5))

_SIZES = st.sampled_from([0.3, 1, 3, 7, 8, 13, 34, 70, 180, 405])
_COMMON: dict[str, st.SearchStrategy[Any]] = {
    "objective": st.sampled_from(["cheapest", "balanced", "fastest"]),
    "org_type": st.sampled_from(["individual", "startup", "enterprise", "small_team"]),
    "deployment_site": st.sampled_from(["cloud", "workstation", "datacenter"]),
    "lifecycle_stage": st.sampled_from(["prototype", "production"]),
    "budget_class": st.sampled_from(["tight", "moderate", "ample"]),
    "cuda_required": st.booleans(),
}
_SERVING = st.fixed_dictionaries(
    {"task": st.just("inference"), "model_family": st.just("llm"), "param_count_b": _SIZES},
    optional={
        **_COMMON,
        "weight_precision": st.sampled_from(["fp16", "bf16", "fp8", "int8", "int4"]),
        "peak_qps": st.sampled_from([0.2, 1, 8, 40]),
        "serving_mode": st.sampled_from(["realtime", "interactive", "batch"]),
        "context_tokens": st.sampled_from([2048, 8192, 32768]),
        "concurrency": st.sampled_from([1, 8, 64]),
        "ttft_slo_ms": st.sampled_from([200, 1000]),
        "utilization_pct": st.sampled_from([5, 60, 95]),
    },
)
_TRAINING = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["pretraining", "full_finetuning"]),
        "model_family": st.just("llm"),
        "param_count_b": _SIZES,
    },
    optional={
        **_COMMON,
        "train_tokens_b": st.sampled_from([0.01, 1, 100]),
        "deadline_hours": st.sampled_from([24, 168, 1000]),
        "seq_len_tokens": st.sampled_from([1024, 4096]),
        "gradient_checkpointing": st.sampled_from(["none", "full"]),
    },
)
_ADAPTERS = st.fixed_dictionaries(
    {
        "task": st.just("peft_finetuning"),
        "model_family": st.just("llm"),
        "peft_method": st.sampled_from(["lora", "qlora"]),
        "param_count_b": _SIZES,
    },
    optional={**_COMMON, "lora_rank": st.sampled_from([8, 64]), "batch_size_per_gpu": st.sampled_from([1, 8])},
)
WORKLOADS = st.one_of(_SERVING, _TRAINING, _ADAPTERS)


def outcome_of(facts: Mapping[str, Any], expertise: Expertise | None = None) -> Outcome:
    return (expertise or shipped_expertise()).decide(facts, decided_at=MOMENT).outcome


def answer_to(facts: Mapping[str, Any], expertise: Expertise | None = None) -> dict[str, Any]:
    return (expertise or shipped_expertise()).decide(facts, decided_at=MOMENT).to_dict(full=False)


@FEW
@given(WORKLOADS)
def test_no_plan_that_does_not_fit_is_recommended_or_offered(facts: dict[str, Any]) -> None:
    answer = answer_to(facts)
    for plan in [answer["recommendation"], *answer["alternatives"]]:
        if plan is not None and plan["memory"] is not None:
            assert plan["memory"]["per_gpu_gb"] <= plan["memory"]["available_per_gpu_gb"], plan
            assert plan["memory"]["headroom_pct"] >= 0


@FEW
@given(WORKLOADS, st.sampled_from([1.05, 1.5, 4.0]))
def test_needing_more_memory_never_gives_less_of_the_same_gpu(facts: dict[str, Any], factor: float) -> None:
    """The smallest count of every GPU that fits can only grow with the model.

    Techniques are stated: where they are not, larger models are assumed to recompute activations, and need less.
    """
    facts = {"gradient_checkpointing": "full", **facts} if facts["task"] != "inference" else facts
    larger = {**facts, "param_count_b": facts["param_count_b"] * factor}
    expertise = shipped_expertise()
    smallest: list[dict[str, int | None]] = []
    for workload in (facts, larger):
        outcome = outcome_of(workload)
        assume(outcome.round is not None)
        fitting: dict[str, int | None] = dict.fromkeys(sorted(expertise.knowledge.gpus), None)
        assert outcome.round is not None
        for plan in outcome.round.plans:
            if plan.facts.get("plan.is_smallest_fit"):
                fitting[plan.gpu.id] = plan.count
        smallest.append(fitting)
    less = {
        gpu: (before, smallest[1][gpu])
        for gpu, before in smallest[0].items()
        if before is not None and (after := smallest[1][gpu]) is not None and after < before
    }
    assert not less
    regained = {gpu for gpu, before in smallest[0].items() if before is None and smallest[1][gpu] is not None}
    assert not regained, "fits the larger model, and not the smaller one"


@FEW
@given(st.floats(1, 2000), st.floats(1.01, 20))
def test_a_stated_need_that_grows_never_gives_a_plan_with_less_memory_of_its_gpu(need: float, factor: float) -> None:
    counts: dict[str, list[int]] = {}
    for stated in (need, need * factor):
        outcome = outcome_of({"task": "inference", "required_vram_gb": stated})
        for plan in outcome.round.plans if outcome.round else ():
            if plan.facts.get("plan.fits"):
                counts.setdefault(plan.gpu.id, []).append(plan.count)
                assert plan.facts["plan.available_gb"] >= stated * 0.999  # type: ignore[operator]
    assert all(min(found) == found[0] for found in counts.values())


@FEW
@given(WORKLOADS, st.data())
def test_excluding_a_gpu_that_was_not_recommended_changes_nothing_else(
    facts: dict[str, Any], data: st.DataObject
) -> None:
    outcome = outcome_of(facts)
    assume(outcome.chosen is not None)
    assert outcome.chosen is not None
    assert outcome.round is not None
    chosen = outcome.chosen.ranked.plan
    others = sorted({plan.gpu.id for plan in outcome.round.plans} - {chosen.gpu.id})
    excluded = data.draw(st.sampled_from(others))
    again = outcome_of({**facts, "gpu_excluded": [excluded]})
    assert again.round is not None
    assert excluded not in {plan.gpu.id for plan in again.round.plans}
    assert again.chosen is not None
    assert again.chosen.ranked.plan.id == chosen.id
    assert again.chosen.ranked.plan.memory == chosen.memory
    assert again.chosen.ranked.plan.cost == chosen.cost


#: For each kind of work a fact that has no bearing on it.
_BESIDE_THE_POINT = {
    "inference": {"gradient_accumulation_steps": 4, "optimizer": "adamw"},
    "pretraining": {"tpot_slo_ms": 45, "lora_targets": "attention"},
    "full_finetuning": {"tpot_slo_ms": 45, "lora_targets": "attention"},
    "peft_finetuning": {"tpot_slo_ms": 45, "kv_cache_precision": "fp16"},
}


@FEW
@given(WORKLOADS)
def test_a_fact_beside_the_point_changes_only_facts_and_questions(facts: dict[str, Any]) -> None:
    more = {**facts, **_BESIDE_THE_POINT[facts["task"]]}
    before, after = answer_to(facts), answer_to(more)
    for key in sorted(set(before) - {"facts", "assumptions", "open_questions"}):
        assert before[key] == after[key], key
    given = set(_BESIDE_THE_POINT[facts["task"]])
    assert {k: v for k, v in before["facts"].items() if k not in given} == {
        k: v for k, v in after["facts"].items() if k not in given
    }


@FEW
@given(WORKLOADS, st.sampled_from([0.3, 0.7, 0.95]), st.data())
def test_a_lower_price_never_worsens_the_rank_of_a_plan(
    facts: dict[str, Any], factor: float, data: st.DataObject
) -> None:
    expertise = shipped_expertise()
    outcome = outcome_of(facts)
    assume(outcome.round is not None)
    assert outcome.round is not None
    priced = [judged.ranked.plan for judged in outcome.round.judged if judged.ranked.plan.cost.offer is not None]
    assume(priced)
    plan = data.draw(st.sampled_from(priced))
    offer = plan.cost.offer
    assert offer is not None
    cheaper = offer.model_copy(update={"usd_per_hour": offer.usd_per_hour * factor})
    knowledge = with_offers(expertise.knowledge, [cheaper if o == offer else o for o in expertise.knowledge.offers])
    other = replace(expertise, knowledge=knowledge, bench=replace(expertise.bench, knowledge=knowledge))
    again = outcome_of(facts, other)
    assert again.round is not None
    before = [judged.ranked.plan.id for judged in outcome.round.judged].index(plan.id)
    ranks = [judged.ranked.plan.id for judged in again.round.judged]
    assert plan.id in ranks
    assert ranks.index(plan.id) <= before


@pytest.mark.parametrize("name", ["llm-chat-8b", "qlora-7b", "pretrain-7b"])
def test_every_gpu_that_was_not_recommended_may_go(
    name: str, example_decisions: dict[str, Any], expertise: Expertise
) -> None:
    """All the others at once: what is best stays best."""
    decision = example_decisions[name]
    chosen = decision.outcome.chosen.ranked.plan
    alone = {**decision.workload.given, "gpu_candidates": [chosen.gpu.id]}
    again = outcome_of(alone, expertise)
    assert again.chosen is not None
    assert again.chosen.ranked.plan.id == chosen.id
