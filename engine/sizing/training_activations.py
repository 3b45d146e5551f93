"""Activations and logits of one training step of a transformer, in GB per GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import as_number
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import Framework
from whichgpu.engine.sizing.intake_reinforcement import ONLINE
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers import layer_bytes_per_token, wide_ends
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.states import splits_models
from whichgpu.engine.sizing.versions import older


#: Micro-batches of a step where they are not stated: more than any pipeline has stages.
UNBOUND = 1 << 40


def adapter_params(shape: Shape, rank: int, targets: tuple[str, ...]) -> float:
    """Parameters of low-rank adapters: rank x (inputs + outputs) over the adapted matrices of all layers."""
    query = shape.heads * shape.head_dim
    values = shape.kv_heads * shape.head_dim
    hidden, wide = shape.hidden, shape.intermediate
    sides = {
        "q": hidden + query,
        "k": hidden + values,
        "v": hidden + values,
        "o": query + hidden,
        "gate": hidden + wide if shape.gated else 0,
        "up": hidden + wide,
        "down": wide + hidden,
    }
    return as_number(rank * shape.layers * sum(sides[target] for target in targets))


def activations_gb(
    job: Job, shape: Shape, tensor: Any, pipeline: Any, micro_batch: Any, accumulation: Any
) -> tuple[Any, Any]:
    """What the layers on one GPU keep at the start of the backward pass, and the working set of one layer, in GB.

    With a pipeline, the first stage holds as many micro-batches in flight as there are stages, so that its share is
    that of a whole model; some frameworks hold of each what the stage has sent on besides.

    Args:
        job: what is trained.
        shape: of its transformer.
        tensor: ranks over which a layer is split; a number or a column, as are the next three.
        pipeline: stages.
        micro_batch: sequences that pass at a time.
        accumulation: micro-batches of a step; ``UNBOUND`` where it is not stated.
    """
    full, stored, checkpoint = layer_bytes_per_token(job, shape, tensor)
    tokens = micro_batch * job.seq_len_tokens
    passes = in_flight(job, pipeline, accumulation)
    layers_here = shape.layers / pipeline * passes
    if job.activation_offload:  # One layer is computed while its neighbour travels.
        layers_here = np.minimum(layers_here, 2.0)
    each = checkpoint if job.checkpointing == "full" else stored
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    sent: Any = 0.0
    if defaults is not None and defaults.keeps_stage_outputs:
        sent = np.where(pipeline > 1, checkpoint * passes, 0.0)
    return tokens * (each * layers_here + sent) / 1e9, tokens * full / 1e9


def forward_gb(job: Job, shape: Shape, tensor: Any, micro_batch: Any) -> Any:
    """What the forward pass of a layer that is recomputed has left in blocks too small for all logits, in GB.

    Its input, its sum and what the feed-forward part reads, and the maps of that part: gate, product and what comes of
    both. The allocator gives a larger tensor no blocks that it would have to join (CUDACachingAllocator.cpp,
    get_free_block), and logits over a vocabulary are larger than any of these.
    """
    if job.checkpointing != "full" or job.chunked_loss:
        return 0.0
    element = 4.0 if job.recipe == "fp32" else 2.0
    streams = 3.0 * shape.hidden / (tensor if job.sequence_parallel else 1)
    each = (streams + (3.0 if shape.gated else 2.0) * shape.intermediate / tensor) * element
    return micro_batch * job.seq_len_tokens * each / 1e9


def in_pipeline(job: Job, rows: Rows) -> tuple[Any, Any]:
    """Micro-batch and micro-batches of a step, as the framework sends them through a pipeline."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    stated = job.gradient_accumulation or UNBOUND
    # A sample is a pair: the answer preferred and the other pass together. Packs hold both within the stated length
    # (ms-swift, swift/dataset/packing.py, create_packed_idx: the sum of both).
    if job.rl_method == "dpo" and not job.packed:
        rows = rows._replace(batch=2 * rows.batch)
    batch = defaults.pipeline_batch if defaults is not None else None
    if batch is None:
        return rows.batch, stated
    smaller = (rows.pipeline > 1) & (rows.batch > batch)
    steps = ceiling(rows.batch, batch) * (job.gradient_accumulation or 1)
    return np.where(smaller, batch, rows.batch), np.where(smaller, steps, stated)


def in_flight(job: Job, pipeline: Any, accumulation: Any) -> Any:
    """Micro-batches whose activations the first stage of a pipeline holds.

    One forward, one backward: as many as there are stages. With several pieces of the model on each GPU, by
    Megatron-LM's count, a further 1 - 1 / stages of two pieces' share (Narayanan et al. 2021); GPipe holds all.
    """
    most = np.maximum(1, accumulation)
    if job.pipeline_schedule == "gpipe":
        return np.where(accumulation >= UNBOUND, pipeline, most)
    if job.pipeline_schedule == "interleaved":
        return np.minimum(pipeline + (pipeline - 1) / 2.0, most)
    return np.minimum(pipeline, most)


def logits_gb(job: Job, shape: Shape, tensor: Any, micro_batch: Any) -> Any:
    """Logits, their 32-bit copy, softmax and gradient, in GB; a chunked or fused loss holds one chunk at a time."""
    if job.family != "llm":
        return 0.0
    training = sizing_constants().training
    defaults = training.frameworks.get(job.framework or "")
    own = defaults.sampled_logit_bytes if defaults is not None and _samples(job) and not job.chunked_loss else None
    per_logit = own or bytes_of_a_logit(job, shape)
    whole = micro_batch * _scored_tokens(job) * shape.vocab * per_logit / _logit_ranks(job, tensor) / 1e9
    if wide_ends(job) and not job.narrow_loss:
        whole = whole + 2.0 * shape.vocab * shape.hidden / tensor / 1e9  # The head, as autocast has cast it.
    if not job.chunked_loss:
        return whole
    if defaults is None or not defaults.keeps_chunks:
        if job.loss_assumed:  # How a mere default divides is not known.
            return whole / training.chunked_loss_chunks.value
        if job.chunk_counts is not None and defaults is not None and defaults.loss_chunk_gb is not None:
            return _filled_chunk_gb(whole / per_logit, defaults.loss_chunk_gb / job.chunk_counts)
        return _chunk_gb(shape, whole, whole / (micro_batch * _scored_tokens(job)), defaults)
    # All chunks wait for the backward pass: compiled in 16 bits, else beside their logarithms in 32. Of one chunk there
    # is the gradient besides.
    kept, gradient = (2.0, 2.0) if job.compiled else (6.0, 6.0)
    return whole / per_logit * (kept + gradient / training.chunked_loss_chunks.value)


def scored_gb(job: Job, shape: Shape, tensor: Any, micro_batch: Any) -> Any:
    """What the answers take while the policy scores them before a step, with their entropy, in GB; 0 where it is alike.

    Nothing is kept for a backward pass then.
    """
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    if not _samples(job) or job.chunked_loss or defaults is None or defaults.scored_logit_bytes is None:
        return 0.0
    tokens = micro_batch * _scored_tokens(job)
    return tokens * shape.vocab * defaults.scored_logit_bytes / _logit_ranks(job, tensor) / 1e9


def _samples(job: Job) -> bool:
    """Whether the model learns from answers that it sampled itself."""
    return job.family == "llm" and job.rl_method in ONLINE


def _scored_tokens(job: Job) -> int:
    """Tokens of a sequence of which the model gives logits: all, or what it wrote itself and one more."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    alone = defaults is not None and defaults.scores_answers_alone and job.rl_method == "grpo"
    return min(job.seq_len_tokens, job.answer_tokens + 1) if alone and job.answer_tokens else job.seq_len_tokens


def _chunk_gb(shape: Shape, whole: Any, each: Any, defaults: Framework | None) -> Any:
    """One chunk of a loss that keeps nothing of the others, in GB.

    Args:
        shape: of the transformer.
        whole: what all logits would take, in GB.
        each: of it, those of one token.
        defaults: of the framework, which may state tokens or memory of a chunk.
    """
    if defaults is not None and defaults.loss_chunk_tokens is not None:
        return np.minimum(whole, each * defaults.loss_chunk_tokens)
    # As many chunks as the vocabulary is wider than the stream, so that one takes no more than what it is made of.
    chunk = whole / max(1, -(-shape.vocab // shape.hidden))
    return chunk if defaults is None or defaults.loss_chunk_gb is None else np.minimum(chunk, defaults.loss_chunk_gb)


def _filled_chunk_gb(logits: Any, most: float) -> Any:
    """A chunk of a compiled loss, in GB: of all logits where they are not too many, else a fourth, an eighth, ...

    Args:
        logits: billions of them.
        most: billions of them in a chunk.
    """
    chunks = np.where(logits > most, 4.0 * np.ceil(logits / most / 4.0), 1.0)
    return logits * sizing_constants().training.logit_bytes_compiled_cast.value / chunks


def _logit_ranks(job: Job, tensor: Any) -> Any:
    """Tensor ranks over which the logits are spread.

    Log-probabilities of sampled tokens are taken from whole logits, which are gathered for it (ColossalChat
    coati/models/utils.py, calc_action_log_probs); Megatron takes them over the parts of the vocabulary.
    """
    return tensor if splits_models(job) or job.rl_method in {None, "none"} else 1


def bytes_of_a_logit(job: Job, shape: Shape) -> float:
    """What the loss takes of each logit: by how it is computed, and by who holds what the model answered."""
    training = sizing_constants().training
    if job.compiles_loss:
        return training.logit_bytes_compiled_cast.value
    # Who takes the loss in 16 bits has a loop of one's own, which takes it outside of a model that is compiled.
    if job.fused_loss or (job.compiled and job.compiles_loss is None and not job.narrow_loss):
        return training.logit_bytes_compiled.value
    logits = training.logits
    if _writes_over_logits(job):
        return logits.in_place
    if _selects_logprobs(job):
        first = logits.wide_answer if job.loss_autocasts else logits.answer
        return (logits.selected_wide if job.loss_autocasts else logits.selected) + (first if shape.capped_logits else 0)
    plain = _takes_uncast_logits(job, shape)
    # Autocast gives a head in 32 bits a copy in 16 to compute with; a loop that takes its loss in 16 bits has none.
    wide_head = wide_ends(job) and job.narrow_loss
    # Models that cap their logits do so in the type of the head, before they are cast, and keep what came out.
    first = logits.wide_answer if wide_head or job.recipe == "fp32" else logits.answer
    capped = first if shape.capped_logits else 0.0
    old = older(job.transformers_version, logits.wide_before) and not plain
    wide = wide_head or job.recipe == "fp32" or old
    if (job.narrow_loss or (plain and not job.loss_autocasts)) and not wide:
        return training.logit_bytes_16bit.value + capped - (0.0 if _holds_logits(job) else logits.answer)
    whole = logits.loss + ((logits.wide_answer if wide else logits.answer) if _holds_logits(job) else 0.0)
    copied = not wide and not plain and older(job.transformers_version, logits.copied_before)
    return (max(whole, logits.copied) if copied else whole) + capped


def _writes_over_logits(job: Job) -> bool:
    """Whether the loss is a kernel of the framework that writes its gradient over its own copy of the logits."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    return defaults is not None and defaults.loss_in_place and not job.chunked_loss


def _selects_logprobs(job: Job) -> bool:
    """Whether the loss of pairs takes one probability a token, row by row, beside those of the reference."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    return job.rl_method == "dpo" and defaults is not None and defaults.selects_answers and job.recipe != "fp32"


def _holds_logits(job: Job) -> bool:
    """Whether the logits are still there when the loss is passed backward.

    A loop of one's own, which is what takes a loss in 16 bits, holds them whatever it trains by.
    """
    if job.holds_logits is not None:
        return job.holds_logits
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    return job.narrow_loss or defaults is None or not defaults.frees_logits


def _takes_uncast_logits(job: Job, shape: Shape) -> bool:
    """Whether the model's class hands its logits to the loss uncast, which then only autocast computes in 32 bits."""
    own = shape.plain_loss == "transformers" and older(
        job.transformers_version, sizing_constants().training.logits.plain_before
    )
    return own or shape.plain_loss == "own"
