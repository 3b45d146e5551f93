"""What is kept of a job never reaches a job that was made from it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.memory import estimate_memory
from whichgpu.engine.sizing.speed import JobSpeed


KNOWLEDGE = load_knowledge()
CARD = KNOWLEDGE.gpus["nvidia-h100-80gb-sxm"]


@pytest.mark.parametrize(
    ("facts", "change"),
    [
        ({"task": "inference", "concurrency": 4}, {"concurrency": 64}),
        ({"task": "inference", "context_tokens": 2048}, {"context_tokens": 16384, "input_tokens": 15872}),
        ({"task": "full_finetuning", "batch_size_per_gpu": 1}, {"micro_batch": 8}),
        ({"task": "peft_finetuning", "peft_method": "lora"}, {"checkpointing": "none"}),
    ],
)
def test_a_changed_job_has_figures_of_its_own(facts: Facts, change: dict[str, object]) -> None:
    model = KNOWLEDGE.models["llama-3.1-8b"]
    used, fresh = (job_from_facts(facts, model) for _ in range(2))
    for job in (used, replace(fresh, **change)):  # type: ignore[arg-type]
        estimate_memory(job, CARD, Layout())
        JobSpeed(job).estimate(CARD, Layout())
    changed, anew = replace(used, **change), replace(job_from_facts(facts, model), **change)  # type: ignore[arg-type]
    assert estimate_memory(changed, CARD, Layout()) == estimate_memory(anew, CARD, Layout())
    assert estimate_memory(changed, CARD, Layout()) != estimate_memory(used, CARD, Layout())
    assert JobSpeed(changed).estimate(CARD, Layout()) == JobSpeed(anew).estimate(CARD, Layout())


def test_a_job_is_a_value_and_keeps_nothing() -> None:
    job = job_from_facts({"task": "inference", "concurrency": 4}, KNOWLEDGE.models["llama-3.1-8b"])
    assert not [name for name in Job.__struct_fields__ if isinstance(getattr(job, name), dict | list | set)]


def test_a_kept_part_serves_every_layout_and_gpu_alike() -> None:
    job = job_from_facts({"task": "inference", "concurrency": 4}, KNOWLEDGE.models["llama-3.1-8b"])
    kept = JobSpeed(job)
    slower = replace(CARD, mem_bw_tbs=1.0)
    for gpu in (CARD, KNOWLEDGE.gpus["nvidia-l4"], slower, CARD):
        for layout in (Layout(), Layout(2), Layout(data=2)):
            link = "pcie" if layout.count > 1 else "none"
            assert kept.estimate(gpu, layout, link, max_batch=8) == JobSpeed(job).estimate(
                gpu, layout, link, max_batch=8
            )
