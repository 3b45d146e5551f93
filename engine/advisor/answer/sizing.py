"""Memory figures of the workload itself, before any plan."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.advisor.outcome import Outcome


_FACTS = (
    "weights_gb",
    "gradients_gb",
    "optimizer_gb",
    "activations_gb",
    "inference_vram_gb",
    "training_vram_gb",
    "required_vram_gb",
    "required_vram_gb_after_techniques",
    "recommended_vram_gb",
    "vram_low_gb",
    "vram_high_gb",
)


def sizing_dict(outcome: Outcome) -> dict[str, Any]:
    """What the job needs in all: rules of thumb and formulas over the workload's facts, and the chosen plan's sum."""
    facts = outcome.final.facts
    sizes: dict[str, Any] = {name: facts[name] for name in _FACTS if name in facts}
    if outcome.chosen and (memory := outcome.chosen.ranked.plan.memory):
        sizes["planned_vram_gb"] = memory.per_gpu_gb * outcome.chosen.ranked.plan.count
    return sizes
