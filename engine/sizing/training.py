"""Memory of training a transformer: states, adapters, activations, logits, and what the runtime adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.learning import UNBOUND, activations_gb, adapter_params, logits_gb
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.serving import GIB
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.sharing import stage_params
from whichgpu.engine.sizing.states import allocator_share, shards, state_bytes


_ZERO = "ZeRO paper; DeepSpeed runtime/zero estimators 0.19"
_COUNT_INPUTS = ("parameters_b", "bytes_per_parameter", "shards")
WEIGHTS = TermKind("weights", "trained parameters on the rank x bytes / shards", _COUNT_INPUTS, _ZERO)
FROZEN = TermKind(
    "weights",
    "frozen parameters on the rank x bytes of their format / shards",
    ("parameters_b", "weight_precision", "shards"),
    "QLoRA paper, bitsandbytes; embedding and head stay in 16 bits",
)
GRADIENTS = TermKind("gradients", "trained parameters on the rank x bytes / shards", _COUNT_INPUTS, _ZERO)
RELEASED = TermKind(
    "gradients",
    "trained parameters x bytes / shards, as far as they exceed the activations freed by then",
    _COUNT_INPUTS,
    "torchtune sets gradients to none between steps; its published ladder (26.7 GB with checkpointing)",
)
AROUND_FROZEN = TermKind(
    "gradients",
    "frozen parameters x bytes / shards + one block before it is sharded: a flat parameter that holds adapters gets"
    " gradients as a whole",
    ("parameters_b", "shards"),
    "PyTorch FSDP documentation, use_orig_params; torchtune lora_fsdp_wrap_policy",
)
OPTIMIZER = TermKind(
    "optimizer",
    "trained parameters on the rank x (moments + master copy) / shards",
    ("parameters_b", "optimizer", "bytes_per_parameter", "shards"),
    _ZERO,
)
ADAPTERS = TermKind(
    "adapters",
    "rank x (inputs + outputs) of the adapted matrices x bytes per adapter parameter",
    ("adapter_parameters_m", "lora_rank", "bytes_per_parameter"),
    "LoRA paper; PEFT keeps adapters and their states in 32 bits",
)
LIVE_LAYER = TermKind(
    "gathered_layer",
    "parameters of the largest layer x bytes, gathered while it runs",
    ("parameters_b", "bytes_per_parameter"),
    "DeepSpeed runtime/zero/stage3.py estimator",
)
_ACTIVATIONS = TermKind(
    "activations",
    "micro-batch x tokens x bytes kept per token and layer x layers (checkpoints only if recomputed) + one layer",
    ("micro_batch", "seq_len_tokens", "gradient_checkpointing", "flash_attention", "tensor", "pipeline"),
    "vramcalc 0.1.2 (7.3 % on eight runs out of sample), Korthikanti et al.",
)
_LOGITS = TermKind(
    "logits",
    "micro-batch x tokens x vocabulary x 14 bytes / tensor ranks; an eighth with a chunked loss",
    ("micro_batch", "seq_len_tokens", "vocab", "chunked_loss"),
    "vramcalc 0.1.2; litgpt, torchtune and Hugging Face runs",
)
STEP = TermKind(
    "optimizer_step",
    "the optimiser's workspace (a copy of the gradients), as far as it exceeds the activations freed by then",
    ("workspace_gb", "freed_gb"),
    "torch multi-tensor AdamW; Hugging Face runs of 32.2 GB (3B) and 25.2 GB (1B)",
)
DEQUANT = TermKind(
    "dequantised_layer",
    "largest matrix in 16 bits",
    ("parameters_m",),
    "bitsandbytes unpacks one matrix at a time",
)
ALLOCATOR = TermKind(
    "allocator",
    "share of the tensors that the caching allocator holds beyond them",
    ("share",),
    "agilerl-arena 1.29: 7 % on one GPU, 5.4 % data parallel, 6.9 % FSDP; SimuMax 1/0.94",
)
CONTEXT = TermKind(
    "context",
    "driver context and, with several GPUs, collective buffers",
    ("ranks",),
    "agilerl-arena 1.29 memory/specs.py",
)


class Block(NamedTuple):
    """What lies on one rank before sharding: parameters, those of embeddings among them, and of the largest layer."""

    params: Any
    embeddings: Any
    largest: Any
    stepped: Any  # parameters whose optimiser state counts here


def training_memory(job: Job, shape: Shape, rows: Rows) -> MemoryColumns:
    """Memory per GPU of one training step of ``job``, for each row."""
    tensor, pipeline = rows.tensor, rows.pipeline
    micro_batch, accumulation = _in_pipeline(job, rows)
    parts: list[PartColumn] = []
    workspace = released = 0.0
    layer_params, end_params = stage_params(shape, pipeline)
    if job.peft:
        _frozen(job, shape, rows, parts)
        _adapters(job, shape, rows, parts)
    else:
        block = Block(
            _on_rank(job, shape, rows, layer_params, end_params),
            np.minimum(end_params, shape.embedding) / tensor,
            shape.largest_layer / tensor,
            (layer_params + end_params) / tensor,
        )
        workspace, released = trained_states(job, block, rows, parts)
    kept, one_layer = activations_gb(job, shape, tensor, pipeline, micro_batch, accumulation)
    activations = kept + one_layer
    settings = (micro_batch, job.seq_len_tokens, job.checkpointing, job.flash_attention, tensor, pipeline)
    parts.append(PartColumn(_ACTIVATIONS, activations, settings))
    # Logits arise on the last stage, where one micro-batch is in flight; the first stage holds them all.
    stages = np.minimum(pipeline, np.maximum(1, accumulation))
    over = np.maximum(0.0, logits_gb(job, shape, tensor, micro_batch) - kept * (1.0 - 1.0 / stages))
    logits = np.where(pipeline == 1, logits_gb(job, shape, tensor, micro_batch), over)
    inputs = (micro_batch, job.seq_len_tokens, shape.vocab, job.chunked_loss)
    parts.append(PartColumn(_LOGITS, logits, inputs, logits > 0))
    freed = activations + logits
    if np.any(released):
        excess = np.maximum(0.0, released + one_layer - freed)
        parts.append(PartColumn(RELEASED, excess, (shape.params / 1e9, state_bytes(job).gradients, shards(rows)[1])))
    parts.append(step_part(workspace, freed))
    return finished(job, parts, rows, known=shape.known, soft=freed)


def step_part(workspace: Any, freed: Any) -> PartColumn:
    """The optimiser's workspace as far as it exceeds what the backward pass has freed by then, in GB."""
    more = workspace > freed
    return PartColumn(STEP, np.where(more, workspace - freed, 0.0), (workspace, freed), more)


def _in_pipeline(job: Job, rows: Rows) -> tuple[Any, Any]:
    """Micro-batch and micro-batches of a step, as the framework sends them through a pipeline."""
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    stated = job.gradient_accumulation or UNBOUND
    batch = habits.pipeline_batch if habits is not None else None
    if batch is None:
        return rows.batch, stated
    smaller = (rows.pipeline > 1) & (rows.batch > batch)
    steps = ceiling(rows.batch, batch) * (job.gradient_accumulation or 1)
    return np.where(smaller, batch, rows.batch), np.where(smaller, steps, stated)


def _on_rank(job: Job, shape: Shape, rows: Rows, layer_params: Any, end_params: Any) -> Any:
    """Parameters whose weights and gradients lie on one rank, before sharding by ZeRO.

    Routed experts are spread over tensor and data ranks where the job says so, or where its framework or a pipeline
    shows that it is trained in the manner of Megatron; sharded weights (ZeRO-3, FSDP) are spread already.
    """
    tensor = rows.tensor
    whole = (layer_params + end_params) / tensor
    if not shape.expert_params:
        return whole
    routed = layer_params * min(1.0, shape.expert_params / shape.body)
    spread = expert_spread(job, shape, rows)
    return np.where(rows.sharded("zero3", "fsdp"), whole, whole - routed / tensor + routed / spread)


def expert_spread(job: Job, shape: Shape, rows: Rows) -> Any:
    """GPUs over which the routed experts of a layer are spread."""
    wanted = job.expert_parallel or np.where((rows.pipeline > 1) | splits_models(job), shape.experts, 1)
    return np.maximum(rows.tensor, np.minimum(np.minimum(wanted, rows.tensor * rows.data), max(1, shape.experts)))


def splits_models(job: Job) -> bool:
    """Whether the framework splits a model over GPUs in the manner of Megatron, and never shards its weights."""
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    return habits is not None and not habits.shards_weights


def _frozen(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> None:
    """The base model under adapters, in its own format."""
    tensor = rows.tensor
    weight = sizing_constants().weights[job.weight_precision]
    over = shards(rows)[0]
    layer_params, end_params = stage_params(shape, rows.pipeline)
    ends = 2.0 if weight.ends_16bit else weight.body
    frozen = (layer_params * weight.body + end_params * ends) / tensor / 1e9
    gathered = max(shape.layer_params * weight.body, shape.embedding * ends) / tensor / 1e9
    spread = (over > 1) & (not job.cpu_offload)
    frozen = np.minimum(frozen, 2.0 * gathered) if job.cpu_offload else frozen / over
    on_rank = (layer_params + end_params) / tensor / 1e9
    inputs = (shape.largest_layer / tensor / 1e9, weight.body)
    parts.append(PartColumn(LIVE_LAYER, np.where(spread, gathered, 0.0), inputs, spread))
    parts.append(PartColumn(FROZEN, frozen, (on_rank, job.weight_precision, over)))
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    if habits is not None and habits.trains_around_frozen:
        around = np.where(spread, frozen + gathered, 0.0)
        parts.append(PartColumn(AROUND_FROZEN, around, (on_rank, over), spread))
    if weight.body < 2.0:
        matrix = float(shape.hidden * shape.intermediate) / tensor
        parts.append(PartColumn(DEQUANT, matrix * 2.0 / 1e9, (matrix / 1e6,)))


def _adapters(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> None:
    training = sizing_constants().training
    trained = adapter_params(shape, job.lora_rank, job.lora_targets) / (rows.tensor * rows.pipeline)
    habits = training.frameworks.get(job.framework or "")
    per = habits.adapter_bytes if habits and habits.adapter_bytes else training.adapter_bytes.value
    if job.optimizer.endswith("8bit"):
        per = max(4.0, per - 6.0)  # Two 8-bit moments instead of two of 32 bits.
    # Weights and gradients of adapters, half of the bytes, stay whole; their moments follow the sharding.
    kept_here = per * 0.5 + per * 0.5 / shards(rows)[2]
    parts.append(PartColumn(ADAPTERS, trained * kept_here / 1e9, (trained / 1e6, job.lora_rank, kept_here)))


def trained_states(job: Job, block: Block, rows: Rows, parts: list[PartColumn]) -> tuple[Any, Any]:
    """Append weights, gradients and optimiser state; give the step's workspace and gradients released between steps."""
    training = sizing_constants().training
    per = state_bytes(job)
    over_weights, over_gradients, over_states = shards(rows)
    count = block.params / 1e9
    habits = training.frameworks.get(job.framework or "")
    if job.cpu_offload:
        # Below the third stage only optimiser state and master weights wait in host memory. Above it two layers are on
        # the GPU at a time, with their weights and gradients.
        stay = rows.sharded("zero1", "zero2") | (habits is not None and not habits.shards_weights)
        both = per.weights + per.gradients
        live = np.minimum(block.params, 2.0 * block.largest) * both / 1e9
        weights = np.where(stay, count * per.weights, live)
        inputs = (count, np.where(stay, per.weights, both), np.where(stay, 1, over_weights))
        parts.append(PartColumn(WEIGHTS, weights, inputs))
        gradients = np.where(stay, count * per.gradients / over_gradients, 0.0)
        parts.append(PartColumn(GRADIENTS, gradients, (count, per.gradients, over_gradients), stay))
        return 0.0, 0.0
    releases = job.optimizer_in_backward or (habits is not None and habits.releases_gradients)
    parts.append(PartColumn(WEIGHTS, count * per.weights / over_weights, (count, per.weights, over_weights)))
    gradients = (block.largest / 1e9 if job.optimizer_in_backward else count) * per.gradients / over_gradients
    if not releases:
        parts.append(PartColumn(GRADIENTS, gradients, (count, per.gradients, over_gradients)))
    stepped = block.stepped / 1e9
    state = (stepped * per.optimizer + block.embeddings * per.embedding_extra / 1e9) / over_states
    parts.append(PartColumn(OPTIMIZER, state, (stepped, job.optimizer, per.optimizer, over_states)))
    gathers, gathered = over_weights > 1, training.largest_layer_bytes.value
    live = np.where(gathers, block.largest * gathered / 1e9, 0.0)
    parts.append(PartColumn(LIVE_LAYER, live, (block.largest / 1e9, gathered), gathers))
    workspace: Any = 0.0
    if not job.optimizer_in_backward and (habits is None or habits.foreach) and job.optimizer in {"adamw", "lamb"}:
        copy = 2.0 if job.recipe == "pure" else 4.0
        workspace = np.where(over_states == 1, count * copy * training.foreach_workspace.value, 0.0)
    return workspace, gradients if releases else 0.0


def finished(
    job: Job,
    parts: list[PartColumn],
    rows: Rows,
    *,
    known: bool,
    soft: Any,
    open_gb: Any = 0.0,
    less_gb: Any = 0.0,
) -> MemoryColumns:
    """Add what the runtime takes, and the band.

    ``soft`` is the part that depends on the framework's habits, ``open_gb`` what may come on top,
    ``less_gb`` what may be missing, in GB.
    """
    constants = sizing_constants()
    count = rows.count
    tensors = total_gb(parts)
    habits = constants.training.frameworks.get(job.framework or "")
    fragmentation = habits.fragmentation * soft if habits is not None and habits.fragmentation else None
    share = allocator_share(rows)
    if fragmentation is not None:
        share = share + fragmentation / tensors
    collectives = np.where(count > 1, constants.collectives_gib.value * GIB, 0.0)
    parts.append(PartColumn(ALLOCATOR, tensors * share, (share,)))
    parts.append(PartColumn(CONTEXT, rows.context_gb + collectives, (count,)))
    total = total_gb(parts)
    low, high, reason = _band(job, parts, rows, tensors, total, soft, known=known)
    low, high = low - less_gb, high + open_gb
    if fragmentation is not None:
        high = high + 0.6 * fragmentation
        reason += "; batches of varying length fragment memory"
    return MemoryColumns(
        per_gpu_gb=total,
        low_gb=np.maximum(0.0, np.minimum(low, total)),
        high_gb=np.maximum(high, total),
        allocated_gb=tensors,
        parts=tuple(parts),
        band_reason=reason,
        method="architecture" if known else "rule of thumb",
    )


def _band(
    job: Job, parts: list[PartColumn], rows: Rows, tensors: Any, total: Any, soft: Any, *, known: bool
) -> tuple[Any, Any, str]:
    """From tensors alone, as allocators count, to the whole device; what is soft or left open widens both ends."""
    low, high = 0.92 * tensors - 0.17 * soft, 1.07 * total + 0.08 * soft
    reasons = ["frameworks keep different activations and workspaces"]
    if not known:
        low, high = 0.78 * tensors - 0.3 * soft, 1.25 * total
        reasons = ["only the size is known: activations are those of a typical model of that size"]
    elif job.kind == "qlora":
        # Checkpoints quantised to one format differ in scales and in what stays in 16 bits.
        high = high + 0.08 * total_gb(parts, FROZEN)
        reasons.append("quantised checkpoints differ")
    if job.master_open:
        # Without a 32-bit copy and with moments in 16 bits, states are half as large.
        low = low - 0.46 * total_gb(parts, WEIGHTS, GRADIENTS, OPTIMIZER)
        reasons.append("whether weights have a 32-bit copy is not stated")
    if job.shape is not None:
        for less, more, reason in _left_open(job, job.shape, rows, soft):
            low, high = low - less, high + more
            reasons.append(reason)
    elif "batch_size_per_gpu" in job.unstated:
        low, high = low - 0.1 * soft, high + 0.5 * soft
        reasons.append("the micro-batch is not stated")
    if job.peft and not job.lora_rank_stated:
        # From 8 to 64 are usual: most often half or twice what is assumed.
        adapters = total_gb(parts, ADAPTERS)
        low = low - (0.35 * adapters if job.lora_rank > 8 else 0.0)
        high = high + adapters * max(0.0, min(1.0, 64.0 / job.lora_rank - 1.0))
        reasons.append("the adapter rank is not stated")
    return low, high, "; ".join(reasons)


def _left_open(job: Job, shape: Shape, rows: Rows, soft: Any) -> Iterator[tuple[Any, Any, str]]:
    """What facts that nobody stated may take from a transformer's low end and add to its high end, in GB, and why."""
    micro_batch, accumulation = _in_pipeline(job, rows)
    if job.unstated & {"seq_len_tokens", "batch_size_per_gpu"}:
        yield 0.2 * soft, 0.5 * soft, "sequence length or micro-batch is not stated"
    if job.checkpointing == "full" and "gradient_checkpointing" in job.unstated:
        # Without recomputation far more is kept: of that a sixteenth is allowed for, a third where no framework tells.
        plain = replace(job, checkpointing="none")
        kept = activations_gb(plain, shape, rows.tensor, rows.pipeline, micro_batch, accumulation)[0]
        yield 0.0, kept * (0.0625 if job.framework else 0.33), "whether activations are recomputed is not stated"
    if job.loss_assumed:
        # A chunked loss is the framework's habit, which a run may not have.
        whole = logits_gb(replace(job, chunked_loss=False), shape, rows.tensor, micro_batch)
        yield 0.0, 0.5 * whole, "whether the loss is fused is not stated"
