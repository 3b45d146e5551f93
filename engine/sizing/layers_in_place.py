"""A layer under adapters whose framework takes it backward by kernels of its own, which write over what they kept."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.shape import Shape


_MATRICES = frozenset(("q", "k", "v", "gate", "up", "down"))


def works_in_place(job: Job, shape: Shape) -> bool:
    """Whether such kernels run: of dense layers with adapters on all matrices; a dropout turns them off."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    if defaults is None or not defaults.kernels_in_place or shape.moe or job.adapter_dropout:
        return False
    return job.peft and set(job.lora_targets) >= _MATRICES


def in_place_elements(shape: Shape, tensor: Any, shared: Any) -> Any:
    """Elements per token of a layer that is recomputed, at the peak of its feed-forward part.

    Of the stream the layer's input, its sum and its output, what each half reads, and the gradient that comes; a
    seventh is added to the gradient that goes, which lies where the second half's input was. Gradients of gate and up
    lie where their maps were, beside the product.
    """
    query = shape.heads * shape.head_dim
    values = shape.latent if shape.latent else 2 * shape.kv_heads * shape.head_dim
    return 7.0 * shape.hidden / shared + (2.0 * query + values + 3.0 * shape.intermediate) / tensor
