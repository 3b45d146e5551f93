"""A layer of a base of bitsandbytes that was prepared for training: its matrix products come out in 32 bits.

PEFT's ``prepare_model_for_kbit_training`` casts norms and embeddings to 32 bits, and a matrix of bitsandbytes computes
in 16 bits but returns the type of its input (``Linear4bit.forward``: ``out.to(inp_dtype)``). So the maps of the
feed-forward part are in 32 bits, whether there is an autocast or not; attention's are in 16 where autocast narrows what
the fused kernel reads. Counted for each operand and traced at six dimensions with adapters on two, four and seven
matrices, with and without autocast and dropout: the sums are what is kept to 1 %, and a layer that is recomputed
to 5 % (tests/engine/sizing/test_layers_wide.py).
"""

from __future__ import annotations

from typing import Any

from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.shape import Shape


_WIDE, _NARROW = 4.0, 2.0
#: Bytes for each number of the feed-forward width while the product is passed backward: gate, up, what is activated,
#: and the gradients of product, gate and up.
_WORKING = 24.0
_FIRST, _SECOND = frozenset(("q", "k", "v")), frozenset(("gate", "up"))


def wide_layer(job: Job, shape: Shape, tensor: Any) -> tuple[Any, Any]:
    """Bytes per token of one gated layer on one rank: kept for the backward pass, and at work beside what is kept.

    Args:
        job: adapters over such a base.
        shape: of its transformer.
        tensor: ranks over which the layer is split; a number or a column.
    """
    autocast = not job.narrow_loss  # A loop of one's own that takes its loss in 16 bits has none.
    attended = _NARROW if autocast else _WIDE
    query = shape.heads * shape.head_dim
    values = shape.latent if shape.latent else 2 * shape.kv_heads * shape.head_dim
    if not job.flash_attention and not shape.latent:
        values = 2 * query  # Eager attention copies keys and values for each head.
    hidden, for_query, for_width = _read_by_adapters(job, autocast=autocast)
    attention = (2.0 * query + values) * attended + for_query * query
    if shape.qk_norm:  # Their input in 32 bits.
        attention += _WIDE * (query + values / 2.0)
    width = 3.0 * _WIDE + for_width
    kept = (2.0 * _WIDE + hidden) * shape.hidden + (attention + width * shape.intermediate) / tensor
    return kept, (_WORKING - width) * shape.intermediate / tensor


def _read_by_adapters(job: Job, *, autocast: bool) -> tuple[float, float, float]:
    """Bytes of what adapters keep of what they read, for each number of the stream, the query and the inner width.

    Autocast casts it for each adapter; without it adapters in 32 bits share what is there, which for the last matrix of
    attention is kept already. What is dropped out is each adapter's own, with a byte of mask.
    """
    targets = set(job.lora_targets)
    first, second = targets & _FIRST, targets & _SECOND
    output, down = "o" in targets, "down" in targets
    if not autocast and not job.adapter_dropout:
        return _WIDE * (bool(first) + bool(second)), 0.0, _WIDE * down
    each = (_NARROW if autocast else _WIDE) + (1.0 if job.adapter_dropout else 0.0)
    return each * (len(first) + len(second)), each * output, each * down
