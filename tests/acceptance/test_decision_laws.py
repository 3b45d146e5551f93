"""Laws of whole decisions, on workloads that hypothesis makes up and on those of ``benchmarks/decisions.py``.

A decision costs many milliseconds, so these run a fifth of the examples that the profile asks for elsewhere, or fewer.
The laws of choice are those of the benchmark, counted by the same code on fewer workloads: each is read off the JSON of
an answer.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from whichgpu.engine.advisor.advisor import Advisor, shipped_advisor
from whichgpu.engine.advisor.outcome import Outcome


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from decision_laws.choosing import comparable, judge_choice
from decision_laws.counting import Laws
from decision_laws.generator import workloads
from decision_laws.paying import judge_money
from decision_laws.promising import judge_targets
from decision_laws.reading import Answers
from decision_laws.relations import Relations


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


def outcome_of(facts: Mapping[str, Any], advisor: Advisor | None = None) -> Outcome:
    return (advisor or shipped_advisor()).decide(facts, decided_at=MOMENT).outcome


def answer_to(facts: Mapping[str, Any], advisor: Advisor | None = None) -> dict[str, Any]:
    return (advisor or shipped_advisor()).decide(facts, decided_at=MOMENT).to_dict(full=False)


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
    advisor = shipped_advisor()
    smallest: list[dict[str, int | None]] = []
    for workload in (facts, larger):
        outcome = outcome_of(workload)
        assume(outcome.round is not None)
        fitting: dict[str, int | None] = dict.fromkeys(sorted(advisor.knowledge.gpus), None)
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


#: The workloads of the benchmark, by their number.
MADE = st.integers(0, 2000).map(lambda number: next(iter(workloads(1, seed=number).values())))
#: Relations that hold of every answer; those that are kept by a share of answers only are counted in the benchmark.
RELATIONS = [
    "without_a_loser",
    "costlier_loser",
    "lower_price",
    "more_budget",
    "looser_target",
    "one_more_choice",
    "doubled_load",
    "owning_more",
    "another_order",
    "another_spelling",
]


@lru_cache(maxsize=1)
def shipped_answers() -> Answers:
    return Answers(shipped_advisor())


@FEW
@given(facts=st.one_of(WORKLOADS, MADE))
def test_no_answer_is_beaten_by_its_own_table(facts: dict[str, Any]) -> None:
    """By a card of the same vendor only with a reason that has a price; by an equal never where an objective is stated.

    While none is stated, the cards and counts that a guide names for the case bind, and are such a reason; and a plan
    of more machines or of more cards over PCIe beats none, but stands under what was chosen over with its price.
    """
    answers = shipped_answers()
    laws, answer = Laws(), answers.answer(facts)
    assume(comparable(answer))
    judge_choice(laws, "drawn", facts, answer, answers.advisor.knowledge)
    passed = answer["recommendation"]["chosen_over"]
    stated, joined = "objective" in facts, any(entry["reason"] == "evidence" for entry in passed)
    names = ["not beaten without a priced reason"] if stated or not joined else []
    if stated or not (joined or any(guide_reason(entry) for entry in passed)):
        names.append("not beaten by an equal")
    assert [miss.says for name in names for miss in laws.by_name[name].misses] == []


def guide_reason(entry: Mapping[str, Any]) -> bool:
    """Whether a plan was passed over for a card or a count that a guide names."""
    return str(entry["reason"]).startswith("guide")


@FEW
@given(facts=st.one_of(WORKLOADS, MADE))
def test_what_is_stated_and_summed_holds(facts: dict[str, Any]) -> None:
    """Limits are known to be met, offers cover their node, a verdict follows its sums, a memory band is said."""
    answers = shipped_answers()
    laws, answer = Laws(), answers.answer(facts)
    assume(answer["recommendation"] is not None)
    judge_targets(laws, "drawn", facts, answer)
    judge_money(laws, "drawn", facts, answer, answers.advisor.knowledge)
    assert {law.name: law.misses for law in laws.by_name.values() if law.bar == 1 and law.misses} == {}


def test_an_objective_is_what_it_says_in_nearly_all_answers() -> None:
    """All but one in thirty: the bars leave room for a preference that costs a little more than it may."""
    laws, answers = Laws(), shipped_answers()
    for number, facts in enumerate(workloads(60, seed=5).values()):
        stated = {**facts, "objective": ("cheapest", "fastest")[number % 2]}
        answer = answers.answer(stated)
        if comparable(answer):
            judge_choice(laws, "drawn", stated, answer, answers.advisor.knowledge)
    for name in ("cheapest is cheapest among equals", "fastest is fastest among equals"):
        assert len(laws.by_name[name].misses) <= 1, [miss.says for miss in laws.by_name[name].misses]


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_relation_between_answers_holds(relation: str) -> None:
    """A loser that goes or gets costlier changes nothing, unless it had set a window of prices or beat the new answer.

    The others are as ``benchmarks/decisions.md`` names them.
    """
    relations = Relations(shipped_answers(), random.Random(relation))
    tried, wrong = 0, []
    for name, facts in workloads(200, seed=7).items():
        verdict = getattr(relations, relation)(facts)
        if verdict is not None:
            tried += 1
            wrong += [(name, verdict[1])] if verdict[1] else []
        if tried >= max(3, FEW.max_examples // 4):
            break
    assert tried
    assert not wrong


@pytest.mark.parametrize("name", ["llm-chat-8b", "qlora-7b", "pretrain-7b"])
def test_every_gpu_that_was_not_recommended_may_go(
    name: str, example_decisions: dict[str, Any], advisor: Advisor
) -> None:
    """All the others at once: what is best stays best."""
    decision = example_decisions[name]
    chosen = decision.outcome.chosen.ranked.plan
    alone = {**decision.workload.given, "gpu_candidates": [chosen.gpu.id]}
    again = outcome_of(alone, advisor)
    assert again.chosen is not None
    assert again.chosen.ranked.plan.id == chosen.id
