"""Offload takes time: what waits in the memory of the host comes over the bus as often as it is read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.sizing import GpuTable
from whichgpu.engine.sizing.speed_links import host_link_gbs


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
SERVICE = {"task": "inference", "model_name": "llama-3.1-70b", "weight_precision": "bf16", "concurrency": 1}
RUN = {"task": "full_finetuning", "model_name": "llama-3.1-8b", "train_tokens_b": 0.01, "sharding": "fsdp"}
PICTURES = {"task": "image_generation", "model_name": "sdxl", "concurrency": 1}


def speeds(advisor: Advisor, facts: dict[str, Any], gpu: str, count: int = 1) -> dict[str, float]:
    """The speeds of the plan on so many of a GPU."""
    stated = {**facts, "gpu_candidates": [gpu], "num_gpus": count}
    chosen = advisor.decide(stated, decided_at=MOMENT).outcome.chosen
    assert chosen is not None
    assert chosen.ranked.plan.speed is not None
    return dict(chosen.ranked.plan.speed.values)


def test_a_token_takes_as_long_as_the_weights_take_over_the_bus(advisor: Advisor) -> None:
    offloaded = speeds(advisor, {**SERVICE, "cpu_offload": True}, "nvidia-h100-80gb-pcie")
    gpu = advisor.knowledge.gpus["nvidia-h100-80gb-pcie"]
    streamed_gb = 2 * 69.5  # Body and head, in 16 bits.
    wire_s = streamed_gb / GpuTable((gpu,)).host_bandwidth("value")[0] * 1e9
    assert offloaded["tpot_ms"] / 1e3 == pytest.approx(wire_s, rel=0.1)


@pytest.mark.parametrize(
    ("facts", "gpu", "count", "figure"),
    [
        (SERVICE, "nvidia-h200-sxm", 2, "tokens_per_s"),
        (RUN, "nvidia-h100-80gb-sxm", 8, "tokens_per_s"),
        ({**RUN, "sharding": "zero2"}, "nvidia-h100-80gb-sxm", 8, "tokens_per_s"),
        (PICTURES, "nvidia-a100-80gb-sxm", 1, "samples_per_s"),
    ],
)
def test_offload_is_never_faster(advisor: Advisor, facts: dict[str, Any], gpu: str, count: int, figure: str) -> None:
    parked = speeds(advisor, {**facts, "cpu_offload": True}, gpu, count)
    assert parked[figure] < speeds(advisor, {**facts, "cpu_offload": False}, gpu, count)[figure]


def test_a_faster_bus_is_faster(advisor: Advisor) -> None:
    gpus = advisor.knowledge.gpus
    wires = [host_link_gbs(gpus[name]) for name in ("nvidia-a100-80gb-pcie", "nvidia-h100-80gb-pcie", "nvidia-gh200")]
    assert wires == sorted(wires)
    parked = {**SERVICE, "cpu_offload": True}
    slow, fast = (speeds(advisor, parked, name)["tpot_ms"] for name in ("nvidia-a100-80gb-pcie", "nvidia-gh200"))
    assert fast < slow


def test_what_has_no_memory_of_its_own_gains_nothing(advisor: Advisor) -> None:
    spark = advisor.knowledge.gpus["nvidia-dgx-spark"]
    assert host_link_gbs(spark) == float("inf")
    facts = {**SERVICE, "cpu_offload": True, "gpu_candidates": ["nvidia-dgx-spark"], "num_gpus": 1}
    found = advisor.decide(facts, decided_at=MOMENT)
    assert found.outcome.chosen is None
