"""Memory of training a transformer: states, adapters, activations, logits, and what the runtime adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.learning import activations_gb
from whichgpu.engine.sizing.learning import adapter_params
from whichgpu.engine.sizing.learning import logits_gb
from whichgpu.engine.sizing.model import MemoryEstimate
from whichgpu.engine.sizing.model import Part
from whichgpu.engine.sizing.model import TermKind
from whichgpu.engine.sizing.serving import GIB
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.sharing import stage_params
from whichgpu.engine.sizing.states import allocator_share
from whichgpu.engine.sizing.states import shards
from whichgpu.engine.sizing.states import state_bytes


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


@dataclass(frozen=True, slots=True)
class Block:
    """What lies on one rank before sharding: parameters, those of embeddings among them, and of the largest layer."""

    params: float
    embeddings: float
    largest: float
    stepped: float | None = None  # parameters whose optimiser state counts here, where that differs from ``params``


def training_memory(job: Job, shape: Shape, layout: Layout, context_gb: float) -> MemoryEstimate:
    """Memory per GPU of one training step of ``job`` on a layout."""
    tensor, pipeline = layout.tensor, layout.pipeline
    job = _in_pipeline(job, pipeline)
    parts: list[Part] = []
    workspace = released = 0.0
    layer_params, end_params = stage_params(shape, pipeline)
    if job.peft:
        _frozen(job, shape, layout, parts)
        _adapters(job, shape, layout, parts)
    else:
        block = Block(
            _on_rank(job, shape, layout, layer_params, end_params),
            min(end_params, shape.embedding) / tensor,
            shape.largest_layer / tensor,
            stepped=(layer_params + end_params) / tensor,
        )
        workspace, released = trained_states(job, block, layout, parts)
    kept, one_layer = activations_gb(job, shape, tensor, pipeline)
    activations = kept + one_layer
    settings = (job.micro_batch, job.seq_len_tokens, job.checkpointing, job.flash_attention, tensor, pipeline)
    parts.append((_ACTIVATIONS, activations, settings))
    # Logits arise on the last stage, where one micro-batch is in flight; the first stage holds them all.
    logits = logits_gb(job, shape, tensor) if pipeline == 1 else _logits_over(job, shape, layout, kept)
    if logits:
        parts.append((_LOGITS, logits, (job.micro_batch, job.seq_len_tokens, shape.vocab, job.chunked_loss)))
    freed = activations + logits
    if released:
        excess = max(0.0, released + one_layer - freed)
        per = state_bytes(job).gradients
        parts.append((RELEASED, excess, (shape.params / 1e9, per, shards(layout.sharding, layout.data)[1])))
    if workspace > freed:
        parts.append((STEP, workspace - freed, (workspace, freed)))
    return finished(job, parts, layout, context_gb, known=shape.known, soft=freed)


def _in_pipeline(job: Job, pipeline: int) -> Job:
    """The job with the micro-batch that its framework sends through a pipeline, whatever the batch of a step."""
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    batch = habits.pipeline_batch if habits is not None else None
    if pipeline == 1 or batch is None or job.micro_batch <= batch:
        return job
    steps = -(-job.micro_batch // batch) * (job.gradient_accumulation or 1)
    return replace(job, micro_batch=batch, gradient_accumulation=steps)


def _on_rank(job: Job, shape: Shape, layout: Layout, layer_params: float, end_params: float) -> float:
    """Parameters whose weights and gradients lie on one rank, before sharding by ZeRO.

    Routed experts are spread over tensor and data ranks where the job says so, or where its framework or a pipeline
    shows that it is trained in the manner of Megatron; sharded weights (ZeRO-3, FSDP) are spread already.
    """
    whole = (layer_params + end_params) / layout.tensor
    if not shape.expert_params or layout.sharding in {"zero3", "fsdp"}:
        return whole
    ranks = layout.tensor * layout.data
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    as_megatron = layout.pipeline > 1 or (habits is not None and not habits.shards_weights)
    wanted = job.expert_parallel or (shape.experts if as_megatron else 1)
    spread = max(layout.tensor, min(wanted, ranks, max(1, shape.experts)))
    routed = layer_params * min(1.0, shape.expert_params / shape.body)
    return whole - routed / layout.tensor + routed / spread


def _logits_over(job: Job, shape: Shape, layout: Layout, kept: float) -> float:
    """What logits on the last stage add to the activations that the first stage holds, in GB."""
    stages = min(layout.pipeline, max(1, job.gradient_accumulation or layout.pipeline))
    return max(0.0, logits_gb(job, shape, layout.tensor) - kept * (1.0 - 1.0 / stages))


def _frozen(job: Job, shape: Shape, layout: Layout, parts: list[Part]) -> None:
    """The base model under adapters, in its own format."""
    weight = sizing_constants().weights[job.weight_precision]
    over = shards(layout.sharding, layout.data)[0]
    layer_params, end_params = stage_params(shape, layout.pipeline)
    ends = 2.0 if weight.ends_16bit else weight.body
    frozen = (layer_params * weight.body + end_params * ends) / layout.tensor / 1e9
    gathered = max(shape.layer_params * weight.body, shape.embedding * ends) / layout.tensor / 1e9
    if job.cpu_offload:
        frozen = min(frozen, 2.0 * gathered)
    elif over > 1:
        frozen /= over
        parts.append((LIVE_LAYER, gathered, (shape.largest_layer / layout.tensor / 1e9, weight.body)))
    on_rank = (layer_params + end_params) / layout.tensor / 1e9
    parts.append((FROZEN, frozen, (on_rank, job.weight_precision, over)))
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    if over > 1 and habits is not None and habits.trains_around_frozen and not job.cpu_offload:
        parts.append((AROUND_FROZEN, frozen + gathered, (on_rank, over)))
    if weight.body < 2.0:
        matrix = float(shape.hidden * shape.intermediate) / layout.tensor
        parts.append((DEQUANT, matrix * 2.0 / 1e9, (matrix / 1e6,)))


def _adapters(job: Job, shape: Shape, layout: Layout, parts: list[Part]) -> None:
    training = sizing_constants().training
    trained = adapter_params(shape, job.lora_rank, job.lora_targets) / (layout.tensor * layout.pipeline)
    habits = training.frameworks.get(job.framework or "")
    per = habits.adapter_bytes if habits and habits.adapter_bytes else training.adapter_bytes.value
    if job.optimizer.endswith("8bit"):
        per = max(4.0, per - 6.0)  # Two 8-bit moments instead of two of 32 bits.
    # Weights and gradients of adapters, half of the bytes, stay whole; their moments follow the sharding.
    kept_here = per * 0.5 + per * 0.5 / shards(layout.sharding, layout.data)[2]
    parts.append((ADAPTERS, trained * kept_here / 1e9, (trained / 1e6, job.lora_rank, kept_here)))


def trained_states(job: Job, block: Block, layout: Layout, parts: list[Part]) -> tuple[float, float]:
    """Append weights, gradients and optimiser state; give the step's workspace and gradients released between steps."""
    training = sizing_constants().training
    per = state_bytes(job)
    over_weights, over_gradients, over_states = shards(layout.sharding, layout.data)
    count = block.params / 1e9
    habits = training.frameworks.get(job.framework or "")
    weights_stay = layout.sharding in {"zero1", "zero2"} or (habits is not None and not habits.shards_weights)
    if job.cpu_offload and weights_stay:
        # Below the third stage only optimiser state and master weights wait in host memory.
        parts.append((WEIGHTS, count * per.weights, (count, per.weights, 1)))
        gradients = count * per.gradients / over_gradients
        parts.append((GRADIENTS, gradients, (count, per.gradients, over_gradients)))
        return 0.0, 0.0
    if job.cpu_offload:
        # Two layers are on the GPU at a time, with their weights and gradients.
        live = min(block.params, 2.0 * block.largest) * (per.weights + per.gradients) / 1e9
        parts.append((WEIGHTS, live, (count, per.weights + per.gradients, over_weights)))
        return 0.0, 0.0
    releases = job.optimizer_in_backward or (habits is not None and habits.releases_gradients)
    parts.append((WEIGHTS, count * per.weights / over_weights, (count, per.weights, over_weights)))
    gradients = (block.largest / 1e9 if job.optimizer_in_backward else count) * per.gradients / over_gradients
    if not releases:
        parts.append((GRADIENTS, gradients, (count, per.gradients, over_gradients)))
    stepped = count if block.stepped is None else block.stepped / 1e9
    state = (stepped * per.optimizer + block.embeddings * per.embedding_extra / 1e9) / over_states
    parts.append((OPTIMIZER, state, (stepped, job.optimizer, per.optimizer, over_states)))
    if over_weights > 1:
        gathered = training.largest_layer_bytes.value
        parts.append((LIVE_LAYER, block.largest * gathered / 1e9, (block.largest / 1e9, gathered)))
    workspace = 0.0
    together = not job.optimizer_in_backward and (habits is None or habits.foreach)
    if over_states == 1 and job.optimizer in {"adamw", "lamb"} and together:
        copy = 2.0 if job.recipe == "pure" else 4.0
        workspace = count * copy * training.foreach_workspace.value
    return workspace, gradients if releases else 0.0


def finished(
    job: Job,
    parts: list[Part],
    layout: Layout,
    context_gb: float,
    *,
    known: bool,
    soft: float,
    open_gb: float = 0.0,
    less_gb: float = 0.0,
) -> MemoryEstimate:
    """Add what the runtime takes, and the band.

    ``soft`` is the part that depends on the framework's habits, ``open_gb`` what may come on top,
    ``less_gb`` what may be missing, in GB.
    """
    constants = sizing_constants()
    count = layout.tensor * layout.pipeline * layout.data
    tensors = sum(value for _, value, _ in parts)
    habits = constants.training.frameworks.get(job.framework or "")
    fragmentation = habits.fragmentation * soft if habits is not None else 0.0
    share = allocator_share(count, layout.sharding) + (fragmentation / tensors if fragmentation else 0.0)
    collectives = constants.collectives_gib.value * GIB if count > 1 else 0.0
    parts.append((ALLOCATOR, tensors * share, (share,)))
    parts.append((CONTEXT, context_gb + collectives, (count,)))
    total = sum(value for _, value, _ in parts)
    low, high, reason = _band(job, parts, tensors, total, soft, layout=layout, known=known)
    low, high = low - less_gb, high + open_gb
    if fragmentation:
        high += 0.6 * fragmentation
        reason += "; batches of varying length fragment memory"
    return MemoryEstimate(
        per_gpu_gb=total,
        low_gb=max(0.0, min(low, total)),
        high_gb=max(high, total),
        allocated_gb=tensors,
        parts=tuple(parts),
        band_reason=reason,
        method="architecture" if known else "rule of thumb",
    )


def _band(
    job: Job, parts: list[Part], tensors: float, total: float, soft: float, *, layout: Layout, known: bool
) -> tuple[float, float, str]:
    """From tensors alone, as allocators count, to the whole device; what is soft or left open widens both ends."""
    low, high = 0.92 * tensors - 0.17 * soft, 1.07 * total + 0.08 * soft
    reasons = ["frameworks keep different activations and workspaces"]
    if not known:
        low, high = 0.78 * tensors - 0.3 * soft, 1.25 * total
        reasons = ["only the size is known: activations are those of a typical model of that size"]
    elif job.kind == "qlora":
        # Checkpoints quantised to one format differ in scales and in what stays in 16 bits.
        high += 0.08 * sum(value for kind, value, _ in parts if kind is FROZEN)
        reasons.append("quantised checkpoints differ")
    if job.master_open:
        # Without a 32-bit copy and with moments in 16 bits, states are half as large.
        low -= 0.46 * sum(value for kind, value, _ in parts if kind in (WEIGHTS, GRADIENTS, OPTIMIZER))
        reasons.append("whether weights have a 32-bit copy is not stated")
    if job.shape is not None:
        for less, more, reason in _left_open(job, job.shape, layout, soft):
            low, high = low - less, high + more
            reasons.append(reason)
    elif "batch_size_per_gpu" in job.unstated:
        low, high = low - 0.1 * soft, high + 0.5 * soft
        reasons.append("the micro-batch is not stated")
    if job.peft and not job.lora_rank_stated:
        # From 8 to 64 are usual: most often half or twice what is assumed.
        adapters = sum(value for kind, value, _ in parts if kind is ADAPTERS)
        low -= 0.35 * adapters if job.lora_rank > 8 else 0.0
        high += adapters * max(0.0, min(1.0, 64.0 / job.lora_rank - 1.0))
        reasons.append("the adapter rank is not stated")
    return low, high, "; ".join(reasons)


def _left_open(job: Job, shape: Shape, layout: Layout, soft: float) -> Iterator[tuple[float, float, str]]:
    """What facts that nobody stated may take from a transformer's low end and add to its high end, in GB, and why."""
    if job.unstated & {"seq_len_tokens", "batch_size_per_gpu"}:
        yield 0.2 * soft, 0.5 * soft, "sequence length or micro-batch is not stated"
    if job.checkpointing == "full" and "gradient_checkpointing" in job.unstated:
        # Without recomputation far more is kept: of that a sixteenth is allowed for, a third where no framework tells.
        plain = replace(job, checkpointing="none")
        kept = activations_gb(plain, shape, layout.tensor, layout.pipeline)[0]
        yield 0.0, kept * (0.0625 if job.framework else 0.33), "whether activations are recomputed is not stated"
    if job.loss_assumed:
        # A chunked loss is the framework's habit, which a run may not have.
        whole = logits_gb(replace(job, chunked_loss=False), shape, layout.tensor)
        yield 0.0, 0.5 * whole, "whether the loss is fused is not stated"
