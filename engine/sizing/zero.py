"""What DeepSpeed's ZeRO allocates beside a rank's states: gathered weights, buckets, flat gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import ThirdStage
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.states import accumulates_wide, splits_models, state_bytes
from whichgpu.engine.sizing.training_terms import BUCKETS, FLAT_GRADIENTS, MASTER_COPY


_NOTHING: Any = 0.0
#: Bytes of a stepped number: the root of second moments over all at once; one tensor after the other, and what is
#: divided by it (torch/optim/adam.py, _multi_tensor_adam and _single_tensor_adam).
_STEPPED = {"foreach": 4.0, "one-by-one": 8.0}


class ZeroBuffers(NamedTuple):
    """Gradient buckets in flight, the flat gradients of a step, and a copy of 32-bit weights, in GB per rank."""

    buckets: Any = _NOTHING
    flat: Any = _NOTHING
    copy: Any = _NOTHING


def in_third_stage(job: Job, rows: Rows) -> Any:
    """Where DeepSpeed gathers weights: in the third stage, which is also what its offload of weights is part of."""
    alone = job.cpu_offload and job.framework == "deepspeed" and not job.sharding and not job.weights_not_offloaded
    return rows.sharded("zero3") | alone


def gathered_elements(job: Job, on_rank: Any, largest: Any, width: float) -> Any:
    """Parameters of ``on_rank`` that the third stage holds whole at a time: gathered ahead, and kept for what follows.

    A module keeps its weights where others come to less than a stated number until it is used again. Where the backward
    pass begins those are the last modules up to half of that, as the way there and back is twice as long.
    """
    stage = _third_stage(job)
    ahead = 0.9 * width * width if stage.prefetch_elements is None else stage.prefetch_elements
    return np.minimum(on_rank, np.maximum(0.5 * stage.reuse_elements, largest) + ahead)


def gathered_bytes(job: Job, on_rank: Any, largest: Any, width: float) -> Any:
    """Bytes of trained weights that the third stage holds whole, and of the gradients of a layer."""
    per = state_bytes(job)
    return gathered_elements(job, on_rank, largest, width) * per.weights + largest * per.gradients


def _third_stage(job: Job) -> ThirdStage:
    training = sizing_constants().training
    defaults = training.frameworks.get(job.framework or "")
    return training.zero.third_stage["auto" if defaults is None else defaults.third_stage]


def zero_buffers(job: Job, rows: Rows, trained: Any, hidden: float) -> ZeroBuffers:
    """What ZeRO takes beside the states of so many ``trained`` parameters on a rank.

    A step casts the rank's gradients into one flat tensor: in the first two stages all of them at once, in the third
    those of a group of parameters at a time. Under offload that happens in host memory; of the third stage the bucket
    of gradients stays, which is there from the beginning, and what of it is sent.
    """
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    megatron = defaults is not None and splits_models(job) and not defaults.steps_by_zero
    third = in_third_stage(job, rows)
    staged = third | (rows.sharded("zero1", "zero2") & (not job.cpu_offload))
    flat = defaults is not None and defaults.steps_flat
    if flat:
        staged = staged | rows.sharded("fsdp")
    if megatron or accumulates_wide(job) or not np.any(staged):
        return ZeroBuffers()
    zero = sizing_constants().training.zero
    element = 4.0 if job.recipe == "fp32" else 2.0
    whole = trained / rows.data
    group = np.where(third, np.minimum(whole, zero.group_parameters), whole)
    # Beside the cast there is the flat tensor that it is made of; in 32 bits nothing is cast.
    each: Any = element if job.recipe == "fp32" else element + 4.0
    # A step by PyTorch's own AdamW, where it is said to be, has temporaries of the whole tensor beside what was cast.
    each = max(each, 4.0 + _STEPPED.get(job.optimizer_step or "", 0.0))
    if flat:  # PyTorch's AdamW holds a further copy; under FSDP gradients are cast one by one beside those of the pass.
        each = each + 4.0 - np.where(rows.sharded("fsdp"), element, 0.0)
    own = _third_stage(job).bucket_elements
    one = 1.0 * hidden * hidden if own is None else own
    stated = defaults.bucket_elements if defaults is not None else None
    first = 2.0 * zero.bucket_elements if stated is None else np.minimum(stated, trained)
    bucket = np.where(third, one + np.minimum(one, trained), np.where(rows.sharded("fsdp"), 0.0, first))
    # The partition that the optimiser steps is a clone of the weights, whatever their type; of 16 bits it is counted.
    copy = whole * (4.0 if job.recipe == "fp32" else 0.0)
    stepped = 0.0 if job.cpu_offload else 1.0
    found = (bucket * element, group * each * stepped, copy * stepped)
    return ZeroBuffers(*(np.where(staged, value / 1e9, 0.0) for value in found))


def zero_parts(beside: ZeroBuffers, trained: Any, rows: Rows, freed: Any) -> list[PartColumn]:
    """The summands of what ZeRO takes: buckets, and what a step takes beyond what is ``freed`` by then, in GB."""
    parts: list[PartColumn] = []
    if np.any(beside.buckets) or np.any(beside.flat):
        parts.append(PartColumn(BUCKETS, beside.buckets, (rows.data,), np.asarray(beside.buckets) > 0))
        more = np.maximum(0.0, beside.flat - freed)
        parts.append(PartColumn(MASTER_COPY, beside.copy, (trained / 1e9, rows.data), beside.copy > 0))
        parts.append(PartColumn(FLAT_GRADIENTS, more, (trained / 1e9, rows.data, freed), more > 0))
    return parts
