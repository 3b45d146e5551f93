"""How much of a transformer lies on the fullest rank of a tensor and pipeline split."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Ints, ceiling
from whichgpu.engine.sizing.shape import Shape


def fullest_stage(shape: Shape, pipeline: Ints, *, fills_last: bool = False) -> tuple[Any, Any, Any]:
    """The fullest pipeline stage: its share of the layers, and how many input embeddings and output heads it holds.

    The first stage holds the embedding and the last one the head (a copy of the embedding where the two are tied).
    Layers that do not divide evenly go to the middle stages first, as vLLM and Megatron place them. Published runs with
    3 and 4 stages are missed by 7 to 12 % when the ends are spread evenly (llm-d-planner, vLLM 0.19 report).

    Args:
        shape: of the transformer.
        pipeline: stages.
        fills_last: layers that do not divide evenly go to the last stages instead.
    """
    edge = middle = 1.0 / pipeline  # Of a typical shape, even the number of layers is only about right.
    if shape.known:
        even, left = np.divmod(shape.layers, pipeline)
        middle = (even + (left > 0)) / shape.layers
        edge = middle if fills_last else (even + (left > np.maximum(0, pipeline - 2))) / shape.layers
    split = np.asarray(pipeline > 1)
    inner = split & (edge * shape.body + max(shape.embedding, shape.head) < middle * shape.body)
    last = shape.head > shape.embedding
    return (
        np.where(split, np.where(inner, middle, edge), 1.0),
        np.where(split, np.where(inner | last, 0.0, 1.0), 1.0),
        np.where(split, np.where(inner | (not last), 0.0, 1.0), 1.0),
    )


class Ranks(Protocol):
    """Plans by their degrees, as columns."""

    @property
    def tensor(self) -> Any:
        """Tensor ranks of each."""

    @property
    def data(self) -> Any:
        """Replicas of each."""


def expert_sharers(job: Job, rows: Ranks) -> Any:
    """Replicas that share one set of routed experts while serving: attention is copied, experts lie on all their GPUs.

    More than one only where ``expert_parallel`` is stated above the tensor ranks (data-parallel attention with experts
    spread, as DeepSeek-style models are served); then as many as it says, at most all replicas.
    """
    if job.training or not job.expert_parallel or job.shape is None or not job.shape.moe:
        return 1
    return np.clip(job.expert_parallel // rows.tensor, 1, rows.data)


def routed_params(shape: Shape) -> tuple[float, float]:
    """Parameters in routed experts, and the share of them that one token reads."""
    if shape.expert_params and shape.experts:
        return shape.expert_params, shape.experts_per_token / shape.experts
    idle = shape.params - shape.active_params
    if not shape.moe or idle <= 0:
        return 0.0, 1.0
    # Only sizes are known: nine tenths of a sparse model are experts, as in published ones.
    routed = max(idle, 0.9 * shape.body)
    return routed, 1.0 - idle / routed


def stage_params(shape: Shape, pipeline: Ints, *, fills_last: bool = False) -> tuple[Any, Any]:
    """Parameters on the fullest stage: inside layers, and in embedding and head."""
    layers, embeddings, heads = fullest_stage(shape, pipeline, fills_last=fills_last)
    return layers * shape.body, embeddings * shape.embedding + heads * shape.head


def trained_stage(job: Job, shape: Shape, pipeline: Ints) -> tuple[Any, Any]:
    """``stage_params`` of a training job, whose framework decides which layers the last stage gets."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    return stage_params(shape, pipeline, fills_last=defaults is not None and defaults.fills_last_stage)


def cached_bytes_per_sequence(shape: Shape, tokens: int, bytes_per_element: float, tensor: Any, block: int) -> Any:
    """Bytes of key-value cache that one sequence keeps on one tensor rank, over all layers.

    Keys and values are split over tensor ranks by whole heads, so at most ``kv_heads`` ways; the latent of multi-head
    latent attention is copied on every rank. Layers with a sliding window keep no more than the window; layers with
    linear attention keep a state that does not grow, taken as 128 numbers for each channel.
    """
    full = near = 1.0 * shape.latent
    if not shape.latent:
        full = 2.0 * ceiling(shape.full_kv_heads, tensor) * shape.full_head_dim
        near = 2.0 * ceiling(shape.kv_heads, tensor) * shape.head_dim
    kept = full * shape.full_layers * blocks(tokens, block)
    if shape.sliding_layers:
        kept += near * shape.sliding_layers * blocks(min(tokens, shape.window or tokens), block)
    state = shape.linear_layers * 128.0 * 2.0 * shape.hidden / tensor
    return bytes_per_element * shape.cached_share * kept + state


def blocks(tokens: Any, block: int) -> Any:
    """Tokens rounded up to whole blocks."""
    return ceiling(tokens, block) * block
