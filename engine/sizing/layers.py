"""Bytes that one layer of a transformer keeps for the backward pass, and works with in it, for each token.

Every term is an operand that autograd saves, as traces of real modules find it (knowledge/activation_traces.yaml,
docs/lab.md); tests hold the sums against the traces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import Framework
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers_in_place import in_place_elements, works_in_place
from whichgpu.engine.sizing.layers_wide import wide_layer
from whichgpu.engine.sizing.shape import Shape


_FIRST, _SECOND = frozenset(("q", "k", "v")), frozenset(("gate", "up"))


def layer_bytes_per_token(job: Job, shape: Shape, tensor: Any) -> tuple[Any, Any, Any]:
    """Bytes per token of one layer on one rank: at work, as kept for the backward pass, and of a checkpoint.

    Args:
        job: what is trained, and how.
        shape: of its transformer.
        tensor: ranks over which the layer is split; a number or a column.
    """
    if wide_ends(job) and shape.gated and job.checkpointing != "selective" and not job.weight_decomposed:
        return _of_a_prepared_base(job, shape, tensor)
    shared = tensor if job.sequence_parallel else 1  # ranks that share the tokens between the split matrices
    selective = job.checkpointing == "selective" and not _recomputes_attention_alone(job)
    if selective:
        kept = _products(job, shape, tensor, shared)
    else:
        kept = _kept(job, shape, tensor, shared, learns=not job.peft)
        if not job.flash_attention and job.checkpointing != "selective":
            kept = kept + score_bytes_per_token(job, shape, tensor)
    return _at_work(job, shape, tensor, shared), kept, _stream(job) * shape.hidden / shared


def _of_a_prepared_base(job: Job, shape: Shape, tensor: Any) -> tuple[Any, Any, Any]:
    """``layer_bytes_per_token`` over a prepared bitsandbytes base, whose products come out in 32 bits."""
    kept, working = wide_layer(job, shape, tensor)
    kept = kept + _routed(job, shape, learns=False)
    scores = 0.0 if job.flash_attention else score_bytes_per_token(job, shape, tensor)
    again = job.checkpointing == "full"
    at_work = working + (kept + 2.0 * scores if again else scores)
    return at_work, kept + scores, _stream(job) * shape.hidden


def score_bytes_per_token(job: Job, shape: Shape, tensor: Any) -> Any:
    """Bytes of attention's scores that a token takes in a layer which does not fuse them away.

    A softmax in 32 bits and, in 16-bit training, its cast. Where a dropout follows, a softmax in the type of the
    scores, the mask and what is left; other encoders drop a tenth of them (T5): a mask, and in 32 bits what is left.
    """
    if shape.drops_out:
        wide = 4.0 if job.recipe == "fp32" or job.autocasts else 2.0
        return (wide + 1.0 + _element(job)) * shape.heads * job.seq_len_tokens / tensor
    each = sizing_constants().training.attention_score_bytes.value - (2.0 if job.recipe == "fp32" else 0.0)
    if job.family == "encoder":
        each += 5.0 if job.recipe == "fp32" else 1.0
    return each * shape.heads * job.seq_len_tokens / tensor


def _framework_defaults(job: Job) -> Framework | None:
    return sizing_constants().training.frameworks.get(job.framework or "")


def _element(job: Job) -> float:
    return 4.0 if job.recipe == "fp32" else 2.0


def wide_ends(job: Job) -> bool:
    """Whether embeddings, head and norms of a base of bitsandbytes were cast to 32 bits, which FSDP rules out.

    PEFT's ``prepare_model_for_kbit_training`` does this; what leaves the embedding, sums between layers and logits are
    in 32 bits then.
    """
    if not job.prepared or job.sharding in {"fsdp", "zero3"}:
        return False
    return job.weight_precision.startswith(("nf4", "fp4", "int8"))


def _stream(job: Job) -> float:
    """Bytes of a number between the layers: under autocast over 32-bit weights embeddings and sums stay in 32 bits."""
    return 4.0 if job.recipe == "fp32" or job.autocasts or wide_ends(job) else 2.0


def _fuses_norms(job: Job, shape: Shape) -> bool:
    """Compiled and fused norms keep no 32-bit copy, nor does LayerNorm, which comes with plain feed-forward parts.

    Liger's norm keeps what it read (linkedin/Liger-Kernel src/liger_kernel/ops/rms_norm.py).
    """
    return job.compiled or job.fused_loss or job.liger or not shape.gated


def _recomputes_attention_alone(job: Job) -> bool:
    """Megatron's selective recomputation makes the scores of attention anew, and keeps all else."""
    defaults = _framework_defaults(job)
    return defaults is not None and defaults.recomputes_attention


def _own_inputs(job: Job) -> bool:
    """Adapters in 32 bits cast what they read, each for itself; adapters in the type of the base share it.

    What PEFT drops out it drops for each adapter, whatever the type.
    """
    if job.narrow_adapters is not None:
        return not job.narrow_adapters or job.adapter_dropout
    defaults = _framework_defaults(job)
    return defaults is None or not defaults.adapter_bytes


def _own_element(job: Job) -> float:
    """Bytes of a number that an adapter in 32 bits has cast for itself: autocast narrows it again for the product.

    A loop of one's own that takes its loss in 16 bits has no autocast.
    """
    wide = job.narrow_loss and _own_inputs(job) and not job.narrow_adapters
    return 4.0 if wide else _element(job)


def _kept(job: Job, shape: Shape, tensor: Any, shared: Any, *, learns: bool) -> Any:
    """Bytes of all operands: of norms, of matrices that learn (or have adapters that do), of attention and the gate."""
    element = _element(job)
    hidden = _norms(job, shape, learns=learns) + _inputs(job, shape, learns=learns)
    if shape.drops_out:  # A byte of mask for what attention and the feed-forward part add.
        hidden += 2.0
    gathered: Any = 0.0
    defaults = _framework_defaults(job)
    if learns and defaults is not None and defaults.keeps_gathered:
        # The input of each split part is gathered once, and kept whole.
        gathered = np.where(shared > 1, 2.0 * element * shape.hidden * (1.0 - 1.0 / shared), 0.0)
    split = _attention(job, shape) + _feed_forward(job, shape, learns=learns)
    if job.weight_decomposed and not learns:
        whole, parts = _decomposed(job, shape)
        hidden, split = hidden + whole * element, split + parts
    return hidden * shape.hidden / shared + gathered + split * element / tensor + _routed(job, shape, learns) / shared


def _norms(job: Job, shape: Shape, *, learns: bool) -> float:
    """Bytes for each hidden number that the two norms keep: their input, and what they scale where scales learn.

    Parallel branches have one input.
    """
    if _fuses_norms(job, shape):
        return (1.0 if shape.parallel_branches else 2.0) * _stream(job)
    defaults = _framework_defaults(job)
    wide = job.autocasts or (defaults is not None and defaults.keeps_32bit_norms)
    scaled = (4.0 if wide else _element(job)) if learns else 0.0
    return sizing_constants().training.norm_bytes.value + 2.0 * scaled


def _inputs(job: Job, shape: Shape, *, learns: bool) -> float:
    """Bytes for each hidden number of what matrices read that have to learn."""
    element, second = _element(job), 2.0 if shape.gated else 1.0
    if learns:  # Autocast casts the input of each matrix anew.
        second -= _wide_experts(job, shape)  # The router alone; copies for experts are counted with them.
        return ((1 if shape.fused_qkv else 3) + second) * 2.0 if job.autocasts else 2.0 * element
    targets = set(job.lora_targets)
    first, others = targets & _FIRST, targets & _SECOND
    each = _own_element(job) + _mask(job)
    read = each * (len(first) + len(others) if _own_inputs(job) else bool(first) + bool(others))
    return read + (2.0 * element if _keeps_quantized_inputs(job) else 0.0)


def _decomposed(job: Job, shape: Shape) -> tuple[float, float]:
    """What weight-decomposed adapters keep: two elements for each output of an adapted matrix.

    For each hidden number, and all that are split over ranks.
    """
    query, values = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sides = {"q": query, "k": values, "v": values, "gate": shape.intermediate, "up": shape.intermediate}
    targets = set(job.lora_targets)
    return 2.0 * len(targets & {"o", "down"}), 2.0 * sum(sides.get(target, 0) for target in sorted(targets))


def _keeps_quantized_inputs(job: Job) -> bool:
    """Older bitsandbytes keeps what every 4-bit matrix reads, although the matrix does not learn."""
    defaults = _framework_defaults(job)
    return job.kind == "qlora" and defaults is not None and defaults.keeps_quantized_inputs


def _mask(job: Job) -> float:
    """Bytes of dropout's mask before an adapter."""
    return 1.0 if job.adapter_dropout else 0.0


def _attention(job: Job, shape: Shape) -> float:
    """Elements of query, keys, values and what comes out, with norms of query and key."""
    query = shape.heads * shape.head_dim
    values = shape.latent if shape.latent else 2 * shape.kv_heads * shape.head_dim
    defaults = _framework_defaults(job)
    elements = 2.0 * query + values
    if defaults is not None and defaults.query_elements:
        elements = defaults.query_elements * query
    elif not job.flash_attention and not shape.latent:
        elements = 4.0 * query  # Eager attention copies keys and values for each head.
    elif shape.fused_qkv:
        # Values are a part of the fused product, which stays whole beside query and keys as they are rotated.
        elements += query + values / 2.0
        # Joined parts of a head lie in another order, in which what comes out is copied for the next matrix.
        elements += query if shape.partial_rotary else 0.0
    if defaults is not None and defaults.exchanges_heads and job.context_parallel > 1:
        elements += query  # What comes out is there for the rank's heads and for its tokens.
    if shape.qk_norm:  # Their input in 32 bits, as two numbers of 16, and what is scaled where scales learn.
        each = 1.0 if _fuses_norms(job, shape) else 2.0 * 2.0 / _element(job) + (0.0 if job.peft else 1.0)
        elements += each * (query + values / 2.0)
    return elements


def _feed_forward(job: Job, shape: Shape, *, learns: bool) -> float:
    """Elements of the feed-forward part, and of what adapters on its last matrix and on attention's read."""
    wide = shape.intermediate
    # What the activation and the product read; Liger's unit reads gate and up, and does the rest again.
    inner = (2.0 if job.liger else 3.0) if shape.gated else 1.0
    if learns:
        return (inner + 1.0) * wide * (1.0 + _wide_experts(job, shape))
    own = (_own_element(job) + _mask(job)) / _element(job)
    elements = inner * wide + (own * wide if "down" in job.lora_targets else 0.0)
    if "o" in job.lora_targets and (_own_inputs(job) or _mask(job)):
        elements += own * shape.heads * shape.head_dim
    if _keeps_quantized_inputs(job):
        elements += shape.heads * shape.head_dim + wide
    return elements


def _routed(job: Job, shape: Shape, learns: bool) -> float:
    """Bytes of a token's copies for its experts, and of their outputs before they are weighed."""
    if not shape.moe:
        return 0.0
    share = shape.sparse_layers / max(1, shape.layers)
    element = 4.0 if _wide_experts(job, shape) else _element(job)
    return (2.0 if learns else 1.0) * element * shape.hidden * shape.experts_per_token * share


def _wide_experts(job: Job, shape: Shape) -> float:
    """Share of layers whose experts stay in 32 bits under autocast, which knows no grouped product.

    transformers casts what experts read to the type of their weights (integrations/moe.py, _grouped_mm).
    """
    return shape.sparse_layers / max(1, shape.layers) if job.autocasts and shape.moe else 0.0


def _products(job: Job, shape: Shape, tensor: Any, shared: Any) -> Any:
    """Selective checkpointing: a layer's input and the outputs of its matrix products, everything else recomputed.

    Outputs of attention's and the feed-forward part's last matrices are there before ranks add them up, whole. Grouped
    products of experts are not among those that are kept.
    """
    element, hidden = _element(job), shape.hidden
    query = shape.heads * shape.head_dim
    values = 1.0 * (shape.latent if shape.latent else 2 * shape.kv_heads * shape.head_dim)
    dense = 1.0 - (shape.sparse_layers / max(1, shape.layers) if shape.moe else 0.0)
    first = (2.0 if shape.gated else 1.0) * shape.intermediate * dense
    last = 1.0 + dense
    if job.every_second_product:  # of query, key, value, output, gate, up and down: query, value, gate and down
        first, last, values = shape.intermediate * dense, dense, 0.5 * values
    split = 2.0 * query + values + first
    summed = np.where(shared > 1, 2.0 * hidden * element / shared, 0.0) if job.every_second_product else 0.0
    scores = 0.0 if job.flash_attention else element * shape.heads * job.seq_len_tokens / tensor
    return _stream(job) * hidden / shared + (last * hidden + split / tensor) * element + summed + scores


def _at_work(job: Job, shape: Shape, tensor: Any, shared: Any) -> Any:
    """Bytes per token that a layer works with while it is passed backward, beside what all layers keep.

    Of a plain feed-forward part and of eager attention a whole layer is taken, which traces do not exceed.
    """
    element, hidden, wide = _element(job), shape.hidden, shape.intermediate
    # The inputs of attention and feed-forward part come together again while they are computed.
    gathered = np.where(shared > 1, 2.0 * hidden * element, 0.0)
    if job.checkpointing == "full" and shape.gated:
        working = _computed_anew(job, shape, tensor, shared) + gathered
    elif shape.gated and job.flash_attention and job.checkpointing == "none":
        return 9.0 * hidden / shared * element  # gradients of a norm in 32 bits, and of what it scales
    elif shape.gated and job.flash_attention and not _recomputes_attention_alone(job):
        working = (5.0 * hidden / shared + 4.0 * wide / tensor) * element + gathered
    else:
        working = _kept(job, shape, tensor, shared, learns=True) + gathered
    if job.flash_attention:
        return working
    # A layer that is recomputed has its scores and their gradients.
    return working + (1.0 if job.checkpointing == "none" else 2.0) * score_bytes_per_token(job, shape, tensor)


def _computed_anew(job: Job, shape: Shape, tensor: Any, shared: Any) -> Any:
    """A gated layer under full checkpointing: at the peak its feed-forward part's maps and their gradients."""
    query = shape.heads * shape.head_dim
    values = shape.latent if shape.latent else 2 * shape.kv_heads * shape.head_dim
    if works_in_place(job, shape):
        return in_place_elements(shape, tensor, shared) * _element(job)
    # Gate, its activation, up and their product with gradients of two; Liger's unit writes those of gate and up over
    # them (src/liger_kernel/ops/swiglu.py).
    hidden, split = 3.0, 2.0 * query + values + (4.0 if job.liger else 6.0) * shape.intermediate
    if job.peft and _own_inputs(job):  # Their casts, and gradients of these in 32 bits.
        targets = set(job.lora_targets)
        own = _own_element(job) / _element(job)
        hidden += own * len(targets & _FIRST) - 2.0 + 3.0 * len(targets & _SECOND)
        split += own * ((query if "o" in targets else 0.0) + (shape.intermediate if "down" in targets else 0.0))
        if job.adapter_dropout and not job.narrow_adapters:  # Masks, and what is left in 32 bits of the widest input.
            mask = _mask(job) / _element(job)
            hidden += mask * len(targets & (_FIRST | _SECOND))
            split += mask * (query if "o" in targets else 0.0)
            split += (mask + 4.0 / _element(job)) * (shape.intermediate if "down" in targets else 0.0)
    if shape.qk_norm:
        split += (1.0 if _fuses_norms(job, shape) else 3.0) * (query + values / 2.0)
    norm = 0.0 if job.recipe == "fp32" or _fuses_norms(job, shape) else sizing_constants().training.norm_bytes.value / 2
    return (hidden * shape.hidden / shared + split / tensor) * _element(job) + norm * shape.hidden / shared
