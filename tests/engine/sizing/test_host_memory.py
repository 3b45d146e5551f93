"""What training leaves in system memory under offload, and that so many GPUs are planned that machines hold it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.sizing import Job, job_from_facts, offloaded_gb


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
TUNING = {"task": "full_finetuning", "model_name": "llama-3.1-8b", "compute_precision": "mixed", "cpu_offload": True}


@pytest.fixture
def job(advisor: Advisor) -> Any:
    def read(**facts: Any) -> Job:
        return job_from_facts({**TUNING, **facts}, advisor.knowledge.models["llama-3.1-8b"])

    return read


def test_a_mixed_run_with_adam_leaves_sixteen_bytes_for_each_parameter(job: Any) -> None:
    # 8.03 billion parameters x (2 weights + 2 gradients + 12 optimizer and master copy), as in the paper on ZeRO.
    assert offloaded_gb(job(sharding="zero3")) == pytest.approx(8.03 * 16, rel=0.01)


def test_below_the_third_stage_weights_stay(job: Any) -> None:
    assert offloaded_gb(job(sharding="zero2")) == pytest.approx(8.03 * 14, rel=0.01)


def test_under_adapters_the_base_alone_waits(job: Any) -> None:
    facts = {"task": "peft_finetuning", "peft_method": "lora", "weight_precision": "bf16", "sharding": "fsdp"}
    assert offloaded_gb(job(**facts)) == pytest.approx(8.03 * 2, rel=0.01)


@pytest.mark.parametrize("facts", [{"cpu_offload": False}, {"task": "inference"}])
def test_without_offloaded_training_nothing_is_counted(job: Any, facts: dict[str, Any]) -> None:
    assert offloaded_gb(job(**facts)) == 0.0


def chosen(advisor: Advisor, **facts: Any) -> Any:
    plan = advisor.decide({**TUNING, **facts}, decided_at=MOMENT).outcome.chosen
    assert plan is not None
    return plan.ranked.plan


def test_so_many_gpus_are_planned_that_their_machines_hold_it(advisor: Advisor) -> None:
    facts = {"model_name": "llama-3.1-70b", "sharding": "fsdp", "gpu_candidates": ["nvidia-h100-80gb-sxm"]}
    plan = chosen(advisor, **facts)
    per_gpu = plan.gpu.vram_gb * plan_constants().host_memory.value
    assert plan.why_count == "smallest count whose machines hold what is offloaded"
    assert plan.facts["plan.host_memory_gb"] * plan.nodes <= plan.count * per_gpu
    assert plan.facts["plan.host_memory_gb"] * plan.nodes > plan.count / 2 * per_gpu


def test_a_stated_number_and_owned_hardware_are_taken_at_their_word(advisor: Advisor) -> None:
    facts = {"model_name": "llama-3.1-70b", "sharding": "fsdp"}
    assert chosen(advisor, **facts, gpu_candidates=["nvidia-h100-80gb-sxm"], num_gpus=1).count == 1
    owned = chosen(advisor, **facts, gpus_owned=["nvidia-a100-80gb-sxm:2"], objective="cheapest")
    assert (owned.gpu.id, owned.count <= 2) == ("nvidia-a100-80gb-sxm", True)
