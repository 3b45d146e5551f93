"""A small vocabulary with every kind of fact."""

from __future__ import annotations

import pytest

from whichgpu.engine.core import record_of
from whichgpu.engine.rules.facts import FactDef, Vocabulary


LINKS = ("none", "pcie", "nvlink-bridge", "nvlink")

DEFINITIONS: dict[str, dict[str, object]] = {
    "training": {"type": "bool", "label": "training"},
    "cuda": {"type": "bool"},
    "task": {
        "type": "enum",
        "choices": ("pretraining", "full_finetuning", "inference"),
        "choice_labels": {"pretraining": "train a new model from the very start", "inference": "serve"},
        "synonyms": {"serving": "inference"},
        "label": "task",
    },
    "next_task": {"type": "enum", "choices": ("inference", "none"), "label": "next task"},
    "mode": {"type": "enum", "choices": ("training", "idle", "unknown")},
    "cadence": {"type": "enum", "choices": ("daily", "weekly"), "label": "how often jobs run"},
    "node_link": {"type": "enum", "choices": ("infiniband", "ethernet")},
    "count_a": {"type": "int", "min": 1, "max": 1000, "label": "number of GPUs", "aliases": ("gpu_total",)},
    "batch": {"type": "int", "unit": "samples", "min": 1},
    "params_b": {"type": "number", "unit": "B", "min": 0, "exclusive_min": True, "max": 100000, "label": "parameters"},
    "tokens_b": {"type": "number", "unit": "B", "min": 0, "label": "training tokens"},
    "need_gb": {"type": "number", "unit": "GB", "min": 0, "label": "memory needed"},
    "have_gb": {"type": "number", "unit": "GB", "min": 0},
    "run_hours": {"type": "number", "unit": "h", "min": 0, "label": "hours of a run"},
    "project_months": {"type": "number", "unit": "months", "min": 0, "label": "length of the project"},
    "share_pct": {"type": "number", "unit": "%", "min": 0, "max": 100},
    "price_usd_h": {"type": "number", "unit": "USD/h", "label": "price"},
    "launch_year": {"type": "int"},
    "ratio": {"type": "number"},
    "model_name": {"type": "text"},
    "current_gpu": {"type": "gpu"},
    "gpu_candidates": {"type": "list", "items": "gpu", "label": "GPUs compared"},
    "regions": {"type": "list", "items": "text", "label": "list of regions"},
    "links_seen": {"type": "list", "items": "enum", "choices": LINKS},
    "sizes": {"type": "list", "items": "int"},
    "owned": {"type": "list", "items": "gpu_count"},
    "plan.count": {"type": "int", "scope": "plan", "min": 1, "label": "number of GPUs"},
    "plan.link": {
        "type": "enum",
        "scope": "plan",
        "choices": LINKS,
        "choice_labels": {"pcie": "PCIe"},
        "label": "link",
    },
    "gpu.id": {"type": "gpu", "scope": "gpu", "label": "GPU"},
    "gpu.vram_gb": {"type": "number", "unit": "GB", "scope": "gpu", "label": "marketed memory"},
    "candidate.is_current": {"type": "bool", "scope": "candidate"},
}


def make_vocabulary() -> Vocabulary:
    return Vocabulary({name: record_of(FactDef, {"name": name, **entry}) for name, entry in DEFINITIONS.items()})


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return make_vocabulary()
