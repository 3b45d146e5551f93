"""The memory of the GPUs that somebody has, from the catalogue."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.lookups import memory_available
from whichgpu.engine.core.values import Value


@pytest.mark.parametrize(
    ("given", "memory"),
    [
        ({"current_gpu": "nvidia-rtx-4090"}, 24),
        ({"current_gpu": "nvidia-rtx-4090", "num_gpus": 2}, 48),
        ({"current_gpu": "nvidia-a100-80gb"}, 80),
        ({"current_gpu": "nvidia-a100"}, None),
        ({"num_gpus": 2}, None),
    ],
)
def test_memory_is_that_of_the_gpus_in_use(advisor: Advisor, given: dict[str, Value], memory: float | None) -> None:
    candidates = memory_available(given, advisor.knowledge)
    assert [candidate.value for candidate in candidates.get("total_vram_gb", [])] == (
        [] if memory is None else [memory]
    )


def test_short_memory_is_noticed_without_being_stated(decide: Callable[..., Decision]) -> None:
    job = {"task": "full_finetuning", "param_count_b": 7, "model_family": "llm"}
    short = decide(job, current_gpu="nvidia-rtx-4090").to_dict(full=False)
    assert short["facts"]["total_vram_gb"]["value"] == 24
    assert short["facts"]["memory_pressure"]["value"] is True
    assert "A-GRAD-CHECKPOINT" in {entry["code"] for entry in short["advice"]}
    ample = decide(job, current_gpu="nvidia-h200-sxm", num_gpus=2).to_dict(full=False)
    assert "memory_pressure" not in ample["facts"]
