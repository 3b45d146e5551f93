"""Workload-scope figures of how much memory a job needs, and of what card to look for, by the guides' arithmetic.

What memory is made of stands in ``calculators``. Importing this module registers the calculators of both.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct

from whichgpu.engine.catalogue import job_profile, profile_of
from whichgpu.engine.core import Calculator, Value, as_number, calculator, registered, traceable
from whichgpu.engine.sizing.calculators import nominal_bytes, trained_job, typical_job
from whichgpu.engine.sizing.memory import typical_memory
from whichgpu.engine.sizing.states import state_bytes


_GUIDES_RANK = 16


class _Classes(Struct, frozen=True):
    """Sizes of memory that the guides name as classes of card: T4, RTX 4090, A100 40GB, A6000 and L40S, A100 80GB."""

    gb: tuple[float, ...]
    source: str


_CLASSES = _Classes((8.0, 12.0, 16.0, 24.0, 40.0, 48.0, 80.0), "thunder/popular-model-vram-requirements")


@traceable("card_classes")
def _classes() -> _Classes:
    return _CLASSES


@calculator(
    output="required_vram_gb",
    unit="GB",
    needs=("task", "param_count_b"),
    uses=("weight_precision", "peft_method", "compute_precision", "optimizer", "training_framework", "model_family"),
    trends={"param_count_b": "rises"},
    formula=(
        "inference: bytes x parameters; LoRA: 1.5 x 16-bit inference; QLoRA: 4-bit weights with adapters and one"
        " sample's activations; full training: 16 bytes x parameters"
    ),
    source="thunder/model-size-calculations, gmi/vram-requirements; QLoRA computed: the guides differ (C02)",
)
def required_vram_gb(
    *,
    task: str,
    param_count_b: float,
    weight_precision: str | None,
    peft_method: str | None,
    compute_precision: str | None,
    optimizer: str | None,
    training_framework: str | None,
    model_family: str | None,
) -> float | None:
    """The least that the job needs over all GPUs by the guides' arithmetic, in GB.

    Nothing where parameters say nothing of the memory, as of a graph network.
    """
    if model_family is not None and job_profile(model_family).serving.memory == "none":
        return None
    sized_as = profile_of(task).sized_as
    if sized_as in {"full", "from_scratch"}:
        job = trained_job(
            task=task,
            param_count_b=param_count_b,
            compute_precision=compute_precision,
            optimizer=optimizer,
            training_framework=training_framework,
            peft_method=None,
            lora_rank=None,
        )
        per = state_bytes(job)
        return param_count_b * (per.weights + per.gradients + per.optimizer)
    if sized_as == "adapters" and peft_method == "qlora":
        family: Value = model_family or "llm"
        facts: dict[str, Value] = {"task": task, "peft_method": "qlora", "param_count_b": param_count_b}
        # The guides name cards for small adapters; what a plan takes of an unstated rank is more cautious.
        facts |= {"lora_rank": _GUIDES_RANK, "model_family": family}
        return typical_memory(typical_job(facts)) or param_count_b
    if sized_as == "adapters":
        return 1.5 * param_count_b * max(2.0, nominal_bytes(weight_precision))
    return param_count_b * nominal_bytes(weight_precision)


@calculator(
    output="training_vram_gb",
    unit="GB",
    needs=("task", "required_vram_gb"),
    trends={"required_vram_gb": "rises"},
    formula="the memory required, while the task is training",
    source="briefing/inference-workloads",
)
def training_vram_gb(*, task: str, required_vram_gb: float) -> float | None:
    """Memory that training takes, in GB."""
    return required_vram_gb if profile_of(task).trains else None


@calculator(
    output="recommended_vram_gb",
    unit="GB",
    needs=("task", "required_vram_gb"),
    uses=("inference_vram_gb", "peft_method"),
    trends={"required_vram_gb": "rises", "inference_vram_gb": "rises"},
    formula=(
        "the next class of card (8, 12, 16, 24, 40, 48, 80 GB, then full 80s) above 1.2 x required; for adapters"
        " above twice the need, with 5 % to spare"
    ),
    source="thunder/popular-model-vram-requirements (7B LoRA: 24 at least, 40 to choose); gpustack 1.2 x weights",
)
def recommended_vram_gb(
    *, task: str, required_vram_gb: float, inference_vram_gb: float | None, peft_method: str | None
) -> float:
    """Memory with comfortable room, as a class of card or a number of 80 GB cards, in GB."""
    if profile_of(task).sized_as != "adapters":
        return _class_above(1.2 * required_vram_gb)
    base = required_vram_gb if peft_method == "qlora" or inference_vram_gb is None else inference_vram_gb
    return _class_above(max(2.0 * base * 1.05, required_vram_gb))


def _class_above(need_gb: float) -> float:
    """The next size of a card, computed from its place between two sizes, so that the need tells it again."""
    sizes = _classes().gb
    for below, size in pairwise((0.0, *sizes)):
        if size >= need_gb:
            return as_number(below + (size - below) * np.ceil((need_gb - below) / (size - below)))
    return as_number(sizes[-1] * np.ceil(need_gb / sizes[-1]))


def memory_calculators() -> dict[str, Calculator]:
    """The calculators of this module by the fact they produce, and whatever else was registered before."""
    return registered()
