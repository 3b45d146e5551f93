"""Experts that a job spreads over its GPUs: over how many, what is left on a rank, and the adapters on them."""

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


def layers_on_rank(job: Job, shape: Shape, rows: Rows, layer_params: Any) -> Any:
    """Parameters inside layers that lie on one rank, before sharding by ZeRO.

    Routed experts are spread over tensor and data ranks where the job says so, or where its framework or a pipeline
    shows that it is trained in the manner of Megatron; sharded weights (ZeRO-3, FSDP) are spread already.
    """
    whole = layer_params / rows.tensor
    if not shape.expert_params:
        return whole
    routed = layer_params * min(1.0, shape.expert_params / shape.body)
    spread = expert_spread(job, shape, rows)
    return np.where(rows.sharded("zero3", "fsdp"), whole, whole - routed / rows.tensor + routed / spread)


def expert_adapters(job: Job, shape: Shape) -> float:
    """Parameters of adapters on all routed experts; 0 where none has any.

    Megatron's experts are linear layers of their own, which adapters on every linear layer take (ms-swift
    megatron/utils/utils.py, find_all_linears: TEGroupedLinear). Each has its own pair for what leads in and out.
    """
    if not splits_models(job) or "up" not in job.lora_targets or not shape.expert_params or not shape.experts:
        return 0.0
    matrices = 3.0 if shape.gated else 2.0
    places = shape.sparse_layers * shape.experts
    width = shape.expert_params / (places * matrices * shape.hidden)
    return job.lora_rank * places * matrices * (shape.hidden + width)
