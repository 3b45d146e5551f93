"""The same workload in other words: other names of facts, units, synonyms of choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


_NAMES = {"param_count_b": "params_b", "model_name": "model", "gpu_candidates": "candidates"}
_SYNONYMS = {
    "task": {
        "inference": "serving",
        "full_finetuning": "full fine-tune",
        "peft_finetuning": "peft",
        "pretraining": "from_scratch",
    },
    "weight_precision": {"fp16": "float16", "bf16": "bfloat16", "int8": "8bit", "int4": "4bit"},
    "lifecycle_stage": {"production": "prod", "development": "dev"},
}
_UNITS: dict[str, Callable[[Any], str]] = {
    "param_count_b": lambda value: f"{value:g}b",
    "context_tokens": lambda value: f"{value:,}",
    "seq_len_tokens": lambda value: f"{value / 1024:g}k" if value % 1000 == 0 else f"{value:,}",
    "deadline_hours": lambda value: f"{value / 24:g} days" if value % 24 == 0 else f"{value * 60:g} minutes",
    "ttft_slo_ms": lambda value: f"{value / 1000:g} s",
    "latency_slo_ms": lambda value: f"{value / 1000:g} s",
    "budget_usd_per_month": lambda value: f"${value:,}",
    "utilization_pct": lambda value: f"{value}%",
    "cuda_required": lambda value: "yes" if value else "no",
    "needs_ecc": lambda value: "yes" if value else "no",
}


def respelt(facts: Mapping[str, Any], *, names_only: bool = False) -> dict[str, Any]:
    """The facts in other words that mean the same."""
    other: dict[str, Any] = {}
    for name, value in facts.items():
        if names_only:
            other[_NAMES.get(name, name)] = value
        elif name in _SYNONYMS:
            other[name] = _SYNONYMS[name].get(value, value)
        else:
            other[name] = _UNITS[name](value) if name in _UNITS else value
    return other
