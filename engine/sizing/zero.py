"""What DeepSpeed's ZeRO allocates beside weights, gradients and optimiser state: buckets, flat gradients of a step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.training_terms import BUCKETS, FLAT_GRADIENTS, MASTER_COPY


_NOTHING: Any = 0.0


class Beside(NamedTuple):
    """Buckets of gradients on their way, the flat gradients of a step, and a copy of 32-bit weights, in GB."""

    buckets: Any = _NOTHING
    flat: Any = _NOTHING
    copy: Any = _NOTHING


def beside_zero(job: Job, rows: Rows, trained: Any, hidden: int) -> Beside:
    """What ZeRO takes beside the states of so many ``trained`` parameters on a rank.

    A step casts the rank's gradients into one flat tensor: in the first two stages all of them at once, in the third
    those of a group of parameters at a time.
    """
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    megatron = habits is not None and not habits.shards_weights
    staged, third = rows.sharded("zero1", "zero2", "zero3"), rows.sharded("zero3")
    if job.cpu_offload or megatron or not np.any(staged):
        return Beside()
    zero = sizing_constants().training.zero
    element = 4.0 if job.recipe == "fp32" else 2.0
    whole = trained / rows.data
    group = np.where(third, np.minimum(whole, zero.group_parameters), whole)
    # Beside the cast there is the flat tensor that it is made of; in 32 bits nothing is cast.
    each = element if job.recipe == "fp32" else element + 4.0
    bucket = np.where(third, 1.0 * hidden * hidden, 2.0 * zero.bucket_elements)
    # The partition that the optimiser steps is a clone of the weights, whatever their type; of 16 bits it is counted.
    copy = whole * (4.0 if job.recipe == "fp32" else 0.0)
    found = (bucket * element, group * each, copy)
    return Beside(*(np.where(staged, value / 1e9, 0.0) for value in found))


def zero_parts(beside: Beside, trained: Any, rows: Rows, freed: Any) -> list[PartColumn]:
    """The summands of what ZeRO takes: buckets, and what a step takes beyond what is ``freed`` by then, in GB."""
    parts: list[PartColumn] = []
    if np.any(beside.buckets):
        parts.append(PartColumn(BUCKETS, beside.buckets, (rows.data,), beside.buckets > 0))
        more = np.maximum(0.0, beside.flat - freed)
        parts.append(PartColumn(MASTER_COPY, beside.copy, (trained / 1e9, rows.data), beside.copy > 0))
        parts.append(PartColumn(FLAT_GRADIENTS, more, (trained / 1e9, rows.data, freed), more > 0))
    return parts
