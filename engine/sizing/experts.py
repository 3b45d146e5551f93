"""Experts that a job spreads over its GPUs: over how many, and what is left of a layer that is gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.states import splits_models


def gathered_layer(job: Job, shape: Shape, rows: Rows) -> Any:
    """Parameters of a layer that FSDP gathers: experts that a job spreads over its ranks stay where they are."""
    whole = shape.layer_params / rows.tensor
    if not job.expert_parallel or not shape.expert_params:
        return whole
    routed = shape.layer_params * min(1.0, shape.expert_params / shape.body)
    return whole - routed / rows.tensor + routed / expert_spread(job, shape, rows)


def expert_spread(job: Job, shape: Shape, rows: Rows) -> Any:
    """GPUs over which the routed experts of a layer are spread."""
    wanted = job.expert_parallel or np.where((rows.pipeline > 1) | splits_models(job), shape.experts, 1)
    return np.maximum(rows.tensor, np.minimum(np.minimum(wanted, rows.tensor * rows.data), max(1, shape.experts)))
