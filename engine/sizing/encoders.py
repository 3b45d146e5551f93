"""Image encoders beside a language model: what they work with, and what they keep where they learn."""

from __future__ import annotations

import math
from typing import Any

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.shape import Shape


#: Parameters of a layer for each squared width: attention's four matrices, two of a part that is four times as wide.
_EACH_LAYER = 12.0


def learns_encoders(job: Job) -> bool:
    """Whether encoders learn: with the whole model unless they are said to be frozen, beside adapters as stated."""
    return bool(job.trains_encoders) if job.peft else job.trains_encoders is not False


def encoder_working_gb(job: Job, shape: Shape, pictures: Any) -> Any:
    """Working memory of one encoder layer in a forward pass over so many images, in GB."""
    width, _ = _widths(shape)
    return pictures * _patches(job) * 10.0 * width * 2.0 / 1e9


def encoder_kept_gb(job: Job, shape: Shape, pictures: Any) -> Any:
    """Activations that a trained encoder keeps of so many images, in GB, by the traces of vision transformers."""
    if not shape.encoders or not learns_encoders(job):
        return 0.0
    width, layers = _widths(shape)
    element = 2.0 if job.recipe == "fp32" else 1.0
    whole = (16.0 + 4.0 * 4.0) * element * width
    each = whole * layers if job.checkpointing == "none" else whole + 2.0 * element * width * layers
    return pictures * _patches(job) * each / 1e9


def _patches(job: Job) -> float:
    typical = sizing_constants().typical
    return (job.pixels() or typical.encoder_picture_px**2) / typical.encoder_patch_px**2


def _widths(shape: Shape) -> tuple[float, int]:
    """Width and layers of a usual encoder of that size."""
    layers = sizing_constants().typical.encoder_layers
    return math.sqrt(shape.encoders / (_EACH_LAYER * layers)), layers
