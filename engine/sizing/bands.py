"""How far memory may lie from its estimate: each band as wide as published runs of its kind have shown, and the odds.

A formula tells what may be less and what more. How often measurements lie outside of that is known from published runs:
``knowledge/memory_bands.yaml`` stretches the band of each kind of job until it holds what it promises, and further for
every fact that is not stated. Where sources that no one looked at lie above their bands whatever these are wide, the
upper end is moved by a margin. ``benchmarks/accuracy/bands.py`` computes all three, each source judged without its own
rows.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.core import made
from whichgpu.engine.sizing.band_constants import memory_bands
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import Band, MemoryColumns, MemoryEstimate
from whichgpu.engine.sizing.rows import Floats


#: No low end lies below this share of the estimate.
_LEAST = 0.05


def group_of_band(job: Job) -> str:
    """The kind of job whose published runs stretch its band."""
    if job.family.startswith("diffusion"):
        return "train_generator" if job.training else "generate"
    if job.shape is None:
        trained = f"{job.family}_training"
        return trained if job.training and trained in memory_bands().groups else "other"
    if job.kind == "inference":  # Engines with a reserve have a band of their own for it, by version.
        return "inference" if job.engine == "transformers" else "serving"
    return "full" if job.kind == "pretraining" else job.kind


def banded(job: Job, found: MemoryColumns) -> MemoryColumns:
    """The estimate with its band stretched as published runs ask for."""
    return replace(found, find_band=partial(_stretched, job, found))


def _stretched(job: Job, found: MemoryColumns) -> Band:
    bands = memory_bands()
    group = group_of_band(job)
    stretch = bands.groups[group]
    widened = made("exp", bands.widened(group, job.open_facts, training=job.training))
    total = found.per_gpu_gb
    low = np.clip(found.low_gb / total, _LEAST, 1.0) ** stretch.low / widened
    high = np.maximum(found.high_gb / total, 1.0) ** stretch.high * made("exp", stretch.margin) * widened
    return Band(total * np.maximum(low, _LEAST), total * high, found.band_reason)


def fit_odds(memory: MemoryColumns | MemoryEstimate, available: Any) -> Floats:
    """How likely the job's memory is no more than what is available on each GPU in GB, 0 to 1; NaN where unknown.

    The logarithm of need over estimate is taken as logistic about 0, each end of the band at its promised chance.
    """
    beyond = memory_bands().beyond_each_end
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.log(np.where(available > 0, available, np.nan) / memory.per_gpu_gb)
        to_end = np.log(np.where(room > 0, memory.high_gb, memory.low_gb) / memory.per_gpu_gb)
    steps = room / np.maximum(np.abs(to_end), 1e-6) * made("log", (1.0 - beyond) / beyond)
    chance: Floats = 1.0 / (1.0 + np.exp(-np.clip(steps, -40.0, 40.0)))
    return chance
