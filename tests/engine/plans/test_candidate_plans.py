from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans import Plan, PlanMaker, candidate_plans, gpus_to_plan
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.needs import safety_of
from whichgpu.engine.plans.targets import goals_of, meets, shortfall, times_kept
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.memory import estimate_memory


KNOWLEDGE = load_knowledge()
GPUS = KNOWLEDGE.gpus


def job(facts: Facts, model: str | None = None) -> Job:
    return job_from_facts(facts, KNOWLEDGE.find_model(model).spec if model else None)


def plans(facts: Facts, model: str | None = None, asked=()) -> list[Plan]:
    return candidate_plans(job(facts, model), facts, KNOWLEDGE, asked)


def by_gpu(found: list[Plan]) -> dict[str, dict[int, Plan]]:
    sorted_out: dict[str, dict[int, Plan]] = {}
    for plan in found:
        sorted_out.setdefault(plan.gpu.id, {})[plan.count] = plan
    return sorted_out


def of(found: list[Plan], gpu: str) -> list[Plan]:
    return [plan for plan in found if plan.gpu.id == gpu]


PRICED = {gpu.id for gpu in KNOWLEDGE.plannable} & KNOWLEDGE.priced_ids


def test_every_gpu_that_can_be_had_gets_a_plan_in_a_fixed_order() -> None:
    found = plans({"task": "inference"}, "llama-3.1-70b")
    assert {plan.gpu.id for plan in found} == PRICED
    keys = [(plan.gpu.id, plan.count) for plan in found]
    assert keys == sorted(keys)
    assert len({plan.id for plan in found}) == len(found)
    assert len(found) < 150
    for plan in found:
        usual = f"{plan.gpu.id}x{plan.count}"
        assert plan.id in {usual, f"{usual}-{plan.layout.label}"}


def test_an_eight_billion_model_takes_one_card_and_seventy_takes_several() -> None:
    small = by_gpu(plans({"task": "inference"}, "llama-3.1-8b"))
    assert set(small["nvidia-rtx-4090"]) == {1, 2, 4}
    assert small["nvidia-rtx-4090"][1].why_count == "one card"
    assert small["nvidia-rtx-4090"][4].why_count == "wider split for speed"
    large = by_gpu(plans({"task": "inference", "weight_precision": "bf16"}, "llama-3.1-70b"))
    assert set(large["nvidia-h100-80gb-sxm"]) == {2, 4, 8}
    plan = large["nvidia-h100-80gb-sxm"][2]
    assert plan.why_count == "smallest count that fits"
    assert plan.facts["plan.is_smallest_fit"] is True
    assert plan.layout.tensor == 2
    assert plan.link == "nvlink"
    assert min(large["amd-mi300x"]) == 1


def test_what_fits_nowhere_is_shown_with_the_most_that_one_can_have() -> None:
    found = by_gpu(plans({"task": "inference"}, "deepseek-v3"))["nvidia-rtx-3060-12gb"]
    assert set(found) == {8}
    assert found[8].facts["plan.fits"] is False
    assert found[8].facts["plan.is_smallest_fit"] is False
    assert found[8].facts["plan.headroom_pct"] < 0
    laptop = by_gpu(plans({"task": "inference"}, "deepseek-v3"))["nvidia-jetson-agx-orin-64gb"]
    assert set(laptop) == {1}


def test_candidates_restrict_and_are_shown_with_one_card_too() -> None:
    facts: Facts = {
        "task": "inference",
        "gpu_candidates": ("nvidia-h100-80gb", "nvidia-l4"),
        "weight_precision": "bf16",
    }
    found = by_gpu(plans(facts, "llama-3.1-70b"))
    assert set(found) == {"nvidia-h100-80gb-pcie", "nvidia-h100-80gb-sxm", "nvidia-l4"}
    assert set(found["nvidia-h100-80gb-sxm"]) == {1, 2, 4, 8}
    assert [count for count, plan in found["nvidia-h100-80gb-sxm"].items() if not plan.facts["plan.fits"]] == [1]
    beyond = {**facts, "gpu_candidates": ("nvidia-rtx-3060",)}
    assert set(by_gpu(plans(beyond, "llama-3.1-70b"))["nvidia-rtx-3060-12gb"]) == {1, 8}


def test_exclusions_remove_families_and_series() -> None:
    left = {gpu.id for gpu in gpus_to_plan({"gpu_excluded": ("nvidia-h100", "nvidia-l4")}, KNOWLEDGE)}
    assert left
    assert not any(
        gpu.startswith(("nvidia-h100", "nvidia-l40")) and gpu != "nvidia-l40" and gpu != "nvidia-l40s" for gpu in left
    )
    assert "nvidia-l4" not in left


def test_a_stated_count_is_the_only_one() -> None:
    found = plans({"task": "inference", "num_gpus": 3}, "llama-3.1-8b")
    assert {plan.count for plan in found} == {3}
    assert {plan.why_count for plan in found} == {"stated"}


def test_absurd_counts_and_sizes_are_planned_all_the_same() -> None:
    for facts in (
        {"task": "inference", "param_count_b": 7.0, "num_gpus": 99_991},
        {"task": "pretraining", "param_count_b": 100_000.0, "train_tokens_b": 1e6, "deadline_hours": 0.001},
        {"task": "inference", "param_count_b": 0.000001, "concurrency": 10_000_000},
        {"task": "full_finetuning", "param_count_b": 7.0, "seq_len_tokens": 100_000_000},
        {"task": "inference", "param_count_b": 7.0, "input_tokens": 0, "output_tokens": 0, "peak_qps": 0.0},
        {"task": "inference", "param_count_b": 7.0, "peak_qps": 1e9, "tpot_slo_ms": 1e-9},
    ):
        found = plans(facts)
        assert len(found) >= len(PRICED)
        for plan in found:
            assert plan.layout.count == plan.count


def test_a_stated_count_below_the_ladder_can_be_the_smallest() -> None:
    facts: Facts = {"task": "inference", "weight_precision": "bf16", "num_gpus": 1}
    assert by_gpu(plans(facts, "llama-3.1-8b"))["nvidia-l4"][1].facts["plan.is_smallest_fit"] is True
    assert (
        by_gpu(plans({**facts, "num_gpus": 2}, "llama-3.1-8b"))["nvidia-l4"][2].facts["plan.is_smallest_fit"] is False
    )


def test_counts_that_rules_ask_for_are_planned_where_they_fit_and_can_be_had() -> None:
    found = by_gpu(plans({"task": "full_finetuning"}, "llama-3.1-8b", {4: "four-for-production", 16: "sixteen"}))
    h100 = found["nvidia-h100-80gb-sxm"]
    assert {4, 8, 16} <= set(h100)
    assert h100[8].why_count == "more GPUs for speed"
    assert h100[16].why_count == "asked by sixteen"
    assert set(found["nvidia-jetson-agx-orin-64gb"]) == {1}
    bare = by_gpu(plans({"task": "full_finetuning"}, "llama-3.1-8b", [4]))
    assert bare["nvidia-h100-80gb-sxm"][4].facts["plan.fits"] is True


def test_without_a_size_every_gpu_is_planned_unproven() -> None:
    found = plans({"task": "inference"}, None, {2: "a-rule"})
    assert {plan.gpu.id for plan in found} == PRICED
    assert {plan.count for plan in found} == {1, 2}
    for plan in found:
        assert plan.memory is None
        assert plan.speed is None
        assert not {"plan.fits", "plan.needed_gb", "plan.tokens_per_s", "plan.is_smallest_fit"} & plan.facts.keys()


def test_stated_memory_is_enough_to_plan() -> None:
    facts: Facts = {"task": "inference", "model_family": "other", "required_vram_gb": 100.0}
    found = by_gpu(plans(facts))
    assert set(found["nvidia-h200-sxm"]) == {1}
    assert found["nvidia-h200-sxm"][1].facts["plan.fits"] is True


def test_the_facts_of_a_plan_agree_with_the_plan() -> None:
    for plan in plans({"task": "inference", "peak_qps": 2.0}, "llama-3.1-70b"):
        facts = plan.facts
        assert facts["plan.gpu"] == plan.gpu.id
        assert facts["plan.count"] == plan.count == plan.layout.count
        assert facts["plan.nodes"] == plan.nodes
        assert facts["plan.link"] == plan.link
        assert facts["plan.node_link"] == plan.node_link
        assert facts["plan.replicas"] == plan.layout.data
        assert facts["plan.gpus_per_node"] * plan.nodes >= plan.count
        assert facts["plan.available_gb"] == pytest.approx(plan.gpu.usable_gb * plan.count)
        assert facts["plan.needed_gb"] == pytest.approx(facts["plan.per_gpu_gb"] * plan.count)
        assert facts["plan.offered"] == (plan.cost.origin != "none")
        assert facts.get("plan.usd_per_hour") == plan.cost.usd_per_hour
        if plan.cost.offer:
            assert facts["plan.provider"] == plan.cost.offer.provider
        assert isinstance(facts.get("plan.max_concurrency", 0), int)
        assert None not in facts.values()
        figures = plan.speed.figures if plan.speed else {}
        for name in ("tokens_per_s", "tpot_ms", "qps"):
            if f"plan.{name}" in facts:
                assert facts[f"plan.{name}"] == figures[name].value


def test_targets_raise_the_count_until_they_are_met() -> None:
    facts: Facts = {"task": "inference", "peak_qps": 20.0, "input_tokens": 1000, "output_tokens": 200}
    found = of(plans(facts, "llama-3.1-70b"), "nvidia-h100-80gb-sxm")
    assert len(found) > 2
    for plan in found:
        assert plan.facts["plan.meets_target"] is True
        assert plan.facts["plan.qps"] >= 20.0
    leanest = min(found, key=lambda plan: plan.count)
    assert leanest.why_count == "meets the target"
    job_maker = PlanMaker(job(facts, "llama-3.1-70b"), facts, KNOWLEDGE)
    one_less = leanest.layout._replace(data=leanest.layout.data - 1)
    assert job_maker.plan(leanest.gpu, one_less.count, "x", layout=one_less).facts["plan.meets_target"] is False


def test_gpus_that_take_several_machines_are_planned_in_the_same_numbers() -> None:
    facts: Facts = {"task": "inference", "peak_qps": 10.0, "tpot_slo_ms": 75.0, "context_tokens": 4096}
    found = plans(facts, "qwen2.5-72b")
    counts = {gpu: set(by_gpu(found)[gpu]) for gpu in ("nvidia-h100-80gb-sxm", "nvidia-h200-sxm")}
    assert all(min(each) > 8 for each in counts.values())
    assert len(set.intersection(*counts.values())) >= 2
    for_speed = [plan for plan in found if plan.why_count == "more replicas for speed" and plan.count > 8]
    assert for_speed
    assert all(plan.facts["plan.meets_target"] is True and plan.count % 8 == 0 for plan in for_speed)


def test_replicas_that_fit_only_side_by_side_are_planned() -> None:
    """One card does not hold all requests in flight; each of four holds its share, and none waits for another."""
    facts: Facts = {"task": "inference", "min_tokens_per_s": 5000.0, "concurrency": 256}
    found = of(plans(facts, "llama-3.1-8b"), "nvidia-a100-40gb-sxm")
    lean = min(found, key=lambda plan: (plan.count, plan.layout.tensor))
    assert (lean.layout.tensor, lean.layout.pipeline) == (1, 1)
    assert lean.layout.data == lean.count > 1
    assert lean.facts["plan.meets_target"] is True


def test_a_latency_target_splits_layers_more_widely() -> None:
    facts: Facts = {"task": "inference", "tpot_slo_ms": 20.0, "weight_precision": "bf16"}
    found = by_gpu(plans(facts, "llama-3.1-70b"))["nvidia-h100-80gb-sxm"]
    assert found[2].facts["plan.meets_target"] is False
    enough = found[max(found)]
    assert enough.layout.tensor > 2
    assert enough.facts["plan.tpot_judged_ms"] <= 20.0
    impossible = of(plans({**facts, "tpot_slo_ms": 0.01}, "llama-3.1-70b"), "nvidia-h100-80gb-sxm")
    assert {plan.facts["plan.meets_target"] for plan in impossible} == {False}
    assert {plan.nodes for plan in impossible} == {1}


def test_no_copy_is_a_pipeline_that_memory_does_not_call_for() -> None:
    busy: Facts = {"task": "inference", "param_count_b": 7.0, "context_tokens": 16384, "peak_qps": 40.0}
    for model, facts in (None, busy), ("flan-t5-xl", {"task": "inference", "peak_qps": 200.0}):
        found = plans(facts, model)
        assert found
        assert not [plan.id for plan in found if plan.layout.pipeline > 1 and _width(plan) > 2 * _least(plan)]
    deep: Facts = {"task": "inference", "param_count_b": 7.0, "pipeline_parallel": 4}
    assert {plan.layout.pipeline for plan in of(plans(deep), "nvidia-h100-80gb-sxm")} == {4}


def _width(plan: Plan) -> int:
    return plan.layout.tensor * plan.layout.pipeline


def _least(plan: Plan) -> int:
    return int(plan.facts["plan.smallest_count"])


def test_a_deadline_raises_the_count_of_a_training_run() -> None:
    facts: Facts = {"task": "pretraining", "train_tokens_b": 1000.0, "deadline_hours": 1000.0}
    found = by_gpu(plans(facts, "llama-2-7b"))["nvidia-h100-80gb-sxm"]
    assert found[max(found)].facts["plan.hours"] <= 1000.0
    assert found[min(found)].facts["plan.hours"] > 1000.0
    hopeless = by_gpu(plans({**facts, "deadline_hours": 0.1}, "llama-2-7b"))["nvidia-h100-80gb-sxm"]
    assert {plan.nodes for plan in hopeless.values()} == {1}
    assert {plan.facts["plan.meets_target"] for plan in hopeless.values()} == {False}


def test_a_long_run_without_a_deadline_also_gets_a_count_that_ends_it() -> None:
    found = by_gpu(plans({"task": "pretraining", "train_tokens_b": 2000.0}, "llama-2-7b"))["nvidia-h100-80gb-sxm"]
    assert found[max(found)].why_count == "ends in tolerable time"
    assert found[max(found)].facts["plan.hours"] <= plan_constants().patience_hours.value
    assert all("plan.meets_target" not in plan.facts for plan in found.values())


def test_goals_and_their_verdicts() -> None:
    serving = job({"task": "inference", "param_count_b": 7.0})
    goals = goals_of(serving, {"peak_qps": 10.0, "tpot_slo_ms": 50.0, "min_tokens_per_s": 100.0, "deadline_hours": 5.0})
    assert goals.hours is None
    good = {"qps": 12.0, "tpot_ms": 40.0, "tokens_per_s": 500.0}
    assert meets(goals, good) is True
    assert meets(goals, {**good, "qps": 5.0}) is False
    assert meets(goals, {"tpot_ms": 40.0, "tokens_per_s": 500.0}) is None
    assert meets(goals, {"tpot_ms": 60.0}) is False
    assert times_kept(goals, {"tpot_ms": 40.0})
    assert not times_kept(goals, {"tpot_ms": 60.0})
    assert shortfall(goals, {**good, "qps": 2.0}) == pytest.approx(5.0)
    assert math.isnan(shortfall(goals, {"tpot_ms": 1.0}))
    assert meets(goals_of(serving, {}), good) is None
    training = job({"task": "pretraining", "param_count_b": 7.0, "train_steps": 10})
    deadline = goals_of(training, {"deadline_hours": 10.0})
    assert deadline.stated
    assert shortfall(deadline, {"hours": 30.0}) == pytest.approx(3.0)
    assert math.isnan(shortfall(deadline, {}))
    assert not goals_of(job({"task": "pretraining", "param_count_b": 7.0}), {"deadline_hours": 10.0}).stated


def test_the_micro_batch_grows_to_what_fits_unless_it_is_stated() -> None:
    free = by_gpu(plans({"task": "full_finetuning", "num_gpus": 8}, "llama-3.1-8b"))["nvidia-h200-sxm"][8]
    stated = by_gpu(plans({"task": "full_finetuning", "num_gpus": 8, "batch_size_per_gpu": 1}, "llama-3.1-8b"))
    assert free.facts["plan.max_micro_batch"] > 1
    assert free.facts["plan.tokens_per_s"] > stated["nvidia-h200-sxm"][8].facts["plan.tokens_per_s"]
    bounded = by_gpu(plans({"task": "full_finetuning", "num_gpus": 8, "global_batch_size": 8}, "llama-3.1-8b"))
    assert bounded["nvidia-h200-sxm"][8].facts["plan.tokens_per_s"] <= free.facts["plan.tokens_per_s"]


def test_the_largest_batch_fits_and_one_more_does_not() -> None:
    for gpu in ("nvidia-h100-80gb-sxm", "nvidia-a100-40gb-sxm", "nvidia-rtx-4090"):
        facts: Facts = {"task": "peft_finetuning", "peft_method": "qlora", "seq_len_tokens": 1024}
        plan = by_gpu(plans(facts, "llama-3.1-8b"))[gpu][1]
        most = plan.facts["plan.max_micro_batch"]
        assert most >= 1
        at_most, beyond = (
            estimate_memory(job({**facts, "batch_size_per_gpu": batch}, "llama-3.1-8b"), plan.gpu, plan.layout)
            for batch in (most, 2 * most + 1)
        )
        assert at_most is not None
        assert beyond is not None
        assert at_most.per_gpu_gb * 1.089 <= plan.gpu.usable_gb * 1.001
        assert beyond.per_gpu_gb * 1.089 > plan.gpu.usable_gb


def test_owned_and_quoted_hardware_is_had() -> None:
    facts: Facts = {"task": "inference", "gpus_owned": ("nvidia-jetson-agx-orin-64gb",)}
    owned = by_gpu(plans(facts, "llama-3.1-8b"))["nvidia-jetson-agx-orin-64gb"][1]
    assert owned.facts["plan.owned"] is True
    assert owned.cost.origin == "owned"
    quoted: Facts = {"task": "inference", "gpu_candidates": ("nvidia-a16",), "rent_quote_usd_h": 0.3}
    (plan,) = by_gpu(plans({**quoted, "num_gpus": 2}, "qwen2.5-0.5b")).get("nvidia-a16", {0: None}).values()
    if plan is not None:
        assert plan.cost.usd_per_hour == pytest.approx(0.6)


def test_owned_cards_are_planned_in_every_number_that_is_there() -> None:
    facts: Facts = {"task": "peft_finetuning", "peft_method": "lora", "gpus_owned": ("nvidia-l40s x3",)}
    found = of(plans({**facts, "gpu_candidates": ("nvidia-l40s",)}, "llama-3.1-8b"), "nvidia-l40s")
    assert {plan.count for plan in found if plan.facts["plan.owned"]} == {1, 2, 3}


def test_a_maker_answers_for_one_gpu() -> None:
    facts: Facts = {"task": "inference", "weight_precision": "bf16"}
    maker = PlanMaker(job(facts, "llama-3.1-70b"), facts, KNOWLEDGE)
    h100 = GPUS["nvidia-h100-80gb-sxm"]
    assert maker.smallest_count(h100) == 2
    assert maker.plan(h100, 1, "the card in use").facts["plan.fits"] is False
    assert maker.plan(h100, 8, "stated").layout.data == 4
    assert maker.smallest_count(GPUS["nvidia-rtx-3060-12gb"]) is None
    assert maker.smallest_count(replace(h100, id="x", usable_gb=None)) is None
    assert maker.offered(h100, 8)
    assert not maker.offered(GPUS["nvidia-jetson-agx-orin-64gb"], 1)


def test_precision_of_a_plan() -> None:
    assert {plan.precision for plan in plans({"task": "inference", "weight_precision": "fp8"}, "llama-3.1-8b")} == {
        "fp8"
    }
    found = by_gpu(plans({"task": "full_finetuning"}, "qwen2.5-0.5b"))
    assert found["nvidia-a100-80gb-sxm"][1].precision == "bf16"
    assert found["nvidia-v100-32gb"][1].precision == "fp16"
    fp8 = by_gpu(plans({"task": "full_finetuning", "compute_precision": "fp8"}, "qwen2.5-0.5b"))
    assert fp8["nvidia-h100-80gb-sxm"][1].precision == "fp8"


def test_a_workstation_holds_four_cards() -> None:
    found = plans({"task": "inference", "deployment_site": "workstation", "weight_precision": "bf16"}, "llama-3.1-70b")
    assert max(plan.count for plan in found if plan.gpu.segment == "consumer") <= 4


def test_stated_gpus_in_a_stated_number_are_judged_by_the_best_estimate() -> None:
    """Between best estimate and margin, what the user states is not refused; a free choice keeps the margin."""
    free = {"task": "pretraining", "model_family": "llm", "param_count_b": 70, "num_gpus": 16}
    stated = {**free, "gpu_candidates": ("nvidia-h100-80gb-sxm",)}
    plan = by_gpu(plans(stated))["nvidia-h100-80gb-sxm"][16]
    assert plan.memory is not None
    needed, usable = plan.memory.per_gpu_gb, plan.gpu.usable_gb
    assert usable is not None
    assert needed < usable < needed * safety_of(job(stated), plan.memory.method)
    assert plan.facts["plan.fits"] is True
    assert by_gpu(plans(free))["nvidia-h100-80gb-sxm"][16].facts["plan.fits"] is False
    far = {**stated, "param_count_b": 90}
    assert by_gpu(plans(far))["nvidia-h100-80gb-sxm"][16].facts["plan.fits"] is False


TASKS = st.sampled_from(
    [
        {"task": "inference"},
        {"task": "inference", "weight_precision": "awq-int4", "concurrency": 16},
        {"task": "full_finetuning", "seq_len_tokens": 2048},
        {"task": "peft_finetuning", "peft_method": "lora"},
        {"task": "peft_finetuning", "peft_method": "qlora"},
    ]
)


@settings(max_examples=25)
@given(TASKS, st.floats(0.5, 500))
def test_no_plan_is_marked_as_fitting_whose_memory_does_not_fit(task: Facts, size: float) -> None:
    facts = {**task, "param_count_b": size}
    what = job(facts)
    for plan in candidate_plans(what, facts, KNOWLEDGE, {4: "a-rule"}):
        memory = estimate_memory(what, plan.gpu, plan.layout)
        assert memory is not None
        assert plan.memory == memory
        raised = memory.per_gpu_gb * safety_of(what, memory.method)
        assert plan.facts["plan.fits"] is (raised <= plan.gpu.usable_gb)
        if plan.why_count in {"one card", "smallest count that fits"} and plan.facts["plan.is_smallest_fit"]:
            assert plan.facts["plan.fits"] is True
        if plan.facts["plan.fits"] and not what.training:
            assert plan.facts["plan.max_micro_batch"] >= 1


@settings(max_examples=25)
@given(TASKS, st.floats(0.5, 300), st.floats(1.01, 3))
def test_more_memory_need_never_yields_a_smaller_plan(task: Facts, size: float, factor: float) -> None:
    small, large = (
        PlanMaker(job(facts), facts, KNOWLEDGE)
        for facts in ({**task, "param_count_b": n} for n in (size, size * factor))
    )
    for gpu in KNOWLEDGE.plannable:
        fewer, more = small.smallest_count(gpu), large.smallest_count(gpu)
        if more is not None:
            assert fewer is not None
            assert fewer <= more


def test_broken_constants_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plans.yaml").write_text("most_gpus: {inference: {value: many, source: x}}\n")
    with pytest.raises(KnowledgeError):
        plan_constants(tmp_path)


def test_a_gpu_without_any_price_is_planned_where_it_is_named_or_there() -> None:
    assert "nvidia-rtx-2080-ti" not in KNOWLEDGE.priced_ids
    for facts in (
        {"gpu_candidates": ("RTX 2080 Ti",)},
        {"current_gpu": "RTX 2080 Ti"},
        {"gpus_owned": ("2 x nvidia-rtx-2080-ti",)},
    ):
        assert "nvidia-rtx-2080-ti" in {gpu.id for gpu in gpus_to_plan(facts, KNOWLEDGE)}
    assert "nvidia-rtx-2080-ti" not in {gpu.id for gpu in gpus_to_plan({}, KNOWLEDGE)}


def test_a_stated_batch_of_pretraining_is_taken_in_the_time_of_a_usual_step() -> None:
    facts: Facts = {"task": "pretraining", "global_batch_size": 512, "seq_len_tokens": 8192}
    found = of(plans(facts, "llama-3.1-405b"), "nvidia-h100-80gb-sxm")
    (asked,) = [plan for plan in found if plan.why_count == "a step in usual time"]
    assert asked.facts["plan.step_s"] <= plan_constants().step_seconds.value
    assert asked.count.bit_count() == 1  # a power of two, as people plan
    fewer = [plan for plan in found if plan.count < asked.count]
    assert fewer
    assert all(plan.facts["plan.step_s"] > plan_constants().step_seconds.value for plan in fewer)


@pytest.mark.parametrize("further", [{"train_tokens_b": 1000}, {"run_hours": 500}, {"global_batch_size": None}])
def test_a_run_whose_length_is_stated_has_no_usual_step(further: dict[str, Any]) -> None:
    stated: dict[str, Any] = {"task": "pretraining", "global_batch_size": 512, **further}
    facts: Facts = {name: value for name, value in stated.items() if value is not None}
    found = plans(facts, "llama-3.1-405b")
    assert not [plan for plan in found if plan.why_count == "a step in usual time"]
