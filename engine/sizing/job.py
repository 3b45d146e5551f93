"""The job as the formulas see it: every input resolved, and which of them are not stated."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from whichgpu.engine.catalogue import Family, ModelSpec
from whichgpu.engine.core import Value
from whichgpu.engine.sizing.shape import Shape


Kind = Literal["inference", "lora", "qlora", "full", "pretraining"]


class Assumed(NamedTuple):
    """An input that was not stated."""

    fact: str
    value: Value
    because: str


class Job(Struct, frozen=True):
    """What is to be sized. Counts are single units (tokens, samples, pixels); sizes of models in billions."""

    kind: Kind
    family: Family
    model: ModelSpec | None
    shape: Shape | None  # of the transformer; None for convolutional, diffusion and unsized models
    params_b: float | None
    active_params_b: float | None

    weight_precision: str  # a key of the weight formats: bf16, int4, q4_k_m, ...
    kv_precision: str
    compute_precision: str  # fp32, fp16, bf16, fp8, mixed

    context_tokens: int  # kept per sequence while serving
    input_tokens: int
    output_tokens: int
    concurrency: int
    models_served: int
    engine: str
    engine_version: str | None

    seq_len_tokens: int
    micro_batch: int
    gradient_accumulation: int | None
    global_batch: int | None
    recipe: str  # mixed, pure, fp32
    optimizer: str
    checkpointing: str  # none, selective, full
    flash_attention: bool
    chunked_loss: bool
    lora_rank: int
    lora_rank_stated: bool
    lora_targets: tuple[str, ...]
    framework: str | None
    cpu_offload: bool
    blocks_offloaded: int | None  # of a generator's

    image_px: int
    frames: int
    denoising_steps: int | None  # as stated, else as the model's authors use it; None where neither is known

    # As stated; None leaves the choice to the planner.
    sharding: str | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    data_parallel: int | None

    train_tokens: float | None
    train_steps: int | None
    stated_gb: float | None  # memory the workload states for itself, where no size is known
    stated_high_gb: float | None
    assumed: tuple[Assumed, ...] = ()
    train_samples: float | None = None  # that the whole run sees, all epochs together
    requests_total: float | None = None  # of a batch job that is served; None: it has no end, or none that is stated
    step_assumed: bool = False  # the samples of a step are not stated, of which a run has so many
    compiled: bool = False
    compiles_loss: bool | None = None  # with the cast of its logits; None: as compiled code of any framework
    liger: bool = False  # norms, rotations and gated units are Liger's kernels
    narrow_loss: bool = False  # the loss is taken from logits in 16 bits as they are
    process_groups: bool = True  # one for each degree, as PyTorch makes them
    holds_logits: bool | None = None  # while the loss is passed backward; None: as the framework does
    loss_autocasts: bool = True  # cross entropy runs under autocast, which computes it in 32 bits
    fused_loss: bool = False  # softmax and its gradient in one kernel
    context_parallel: int = 1  # GPUs that share a sequence: ``seq_len_tokens`` is what each of them holds
    sequence_parallel: bool | None = None  # tensor ranks share tokens between the layers; None: not stated
    every_second_product: bool = False  # selective checkpointing keeps outputs of every second matrix product only
    prepared: bool = False  # the framework casts to 32 bits what bitsandbytes leaves in 16
    autocasts: bool = False  # 16 bits are computed over weights in 32, so that sums between layers are in 32
    pipeline_schedule: str = "1f1b"
    trains_embeddings: bool = False  # besides adapters
    trains_encoders: bool | None = None  # of pictures or sound; None: not stated
    weight_decomposed: bool = False  # adapters learn magnitudes apart (DoRA)
    resident_params_b: float = 0.0  # of frozen models beside the trained one
    rl_method: str | None = None  # ppo, grpo, dpo; None: the samples are given, or not stated
    critic_params_b: float = 0.0  # of a value model that learns beside the trained one
    models_take_turns: bool = False  # of reinforcement learning: each waits in host memory while it is not at work
    answer_tokens: int | None = None  # of a sequence, that the model itself writes; None: not stated
    rollout_here: bool = False  # the engine that generates rollouts runs on the GPUs that train
    rollout_sleeps: bool = True  # it gives its memory back while weights are updated
    rollout_shares_weights: bool = False  # it generates with the trained weights themselves
    rollout_tensor: int | None = None  # GPUs over which one replica of it is split; None: as many as a node offers
    rollout_share: float | None = None  # of the card, that it takes; None: what it needs
    rollout_share_assumed: bool = False  # that share is not stated
    varying_lengths: bool = False  # batches differ in length or, of pictures, in shape
    packed: bool = False  # samples are joined up to the stated length
    expert_precision: str | None = None  # of routed experts, where it is not that of the weights
    beams: int | None = None  # of a search for the text of speech; None: as the program has them
    text_encoder_precision: str | None = None  # of a generator
    encoders_cached: bool | None = None  # a generator's encoders have run before; None: as its trainers do
    sliced_decoding: bool = False
    pytorch_version: str | None = None
    transformers_version: str | None = None
    optimizer_step: str | None = None  # as stated
    chunk_counts: float | None = None  # bytes a logit by which chunks of the loss are filled; None: by none
    release_open: bool = False  # of a framework whose earlier releases hold all logits, where none is stated
    steps_at_once: bool = False  # the optimiser holds a further copy of what it steps over
    steps_open: bool = False  # not stated, and releases of the framework differ
    steps_assumed: bool = False  # no framework is stated either
    adapter_dropout: bool = False  # before each adapter, whose mask is kept
    narrow_adapters: bool | None = None  # held in 16 bits; None: as the framework has them
    fuses_modules: bool = False  # loading joins query, key and value into one matrix
    expert_parallel: int | None = None  # GPUs over which routed experts are spread; None: as many as the layout allows
    weights_not_offloaded: bool = False  # what is offloaded is the optimiser's state alone
    activation_offload: bool = False
    optimizer_in_backward: bool = False
    master_open: bool = False  # 16-bit training is stated, but not whether weights have a 32-bit copy
    prefix_share: float = 0.0  # of a prompt, that is found in the cache of prefixes
    draft_tokens: int = 0  # that a step drafts for each sequence before it verifies them
    draft_acceptance: float = 0.0  # how likely a drafted token is accepted
    lookups: int = 0  # vectors that a sample of a recommender reads from its tables; 0 where not stated
    lookup_width: int = 0  # numbers of a vector
    loss_assumed: bool = False  # a chunked loss is what the framework's examples have, not what the workload states
    engine_stated: bool = False  # the workload names its serving engine
    unstated: frozenset[str] = frozenset()  # of the loads: facts that are not stated, whoever assumed their value
    open_facts: frozenset[str] = frozenset()  # of those that widen a band of memory: facts that are not stated
    image_short_px: int | None = None  # the other edge of a picture; None where not stated
    classes: int | None = None  # that a segmentation distinguishes
    profile: str = "other"  # the kind of job, of those in knowledge/tasks.yaml

    def pixels(self, usual_share: float = 1.0) -> float:
        """Pixels of a picture: both edges where they are stated, else of its long edge squared the usual share."""
        short = self.image_short_px
        return 1.0 * self.image_px * short if short else self.image_px**2 * usual_share

    @property
    def training(self) -> bool:
        """Weights change."""
        return self.kind != "inference"

    @property
    def data_ranks(self) -> int | None:
        """Data ranks, as stated or as the stated batches say: global batch = batch per GPU x accumulation x ranks."""
        if self.data_parallel is not None or not self.training or "batch_size_per_gpu" in self.unstated:
            return self.data_parallel
        if not self.global_batch or self.step_assumed or not self.gradient_accumulation:
            return None
        ranks, left = divmod(self.global_batch, self.micro_batch * self.gradient_accumulation)
        ranks *= self.context_parallel
        return ranks if ranks and not left else None

    def samples_of_a_step(self, at_once: Any) -> Any:
        """Samples by which a step counts: of a stated batch no fewer than pass all GPUs at once.

        Args:
            at_once: samples of a micro-batch over all GPUs, of each plan.
        """
        if self.global_batch is None:
            return at_once * (self.gradient_accumulation or 1)
        return self.global_batch if self.step_assumed else np.maximum(self.global_batch, at_once)

    @property
    def least_gpus(self) -> int:
        """GPUs that the stated degrees of parallelism take together; any other count is a multiple of them."""
        degrees = (self.tensor_parallel, self.pipeline_parallel, self.data_ranks)
        return math.prod(degree for degree in degrees if degree)

    @property
    def split_by_layers(self) -> bool:
        """Whether the serving engine gives each GPU whole layers: then any number of GPUs shares a model."""
        return self.kind == "inference" and self.family == "llm" and self.engine in {"transformers", "llama.cpp"}

    @property
    def peft(self) -> bool:
        """Only adapters change."""
        return self.kind in {"lora", "qlora"}

    @property
    def sized(self) -> bool:
        """Enough is known to compute memory."""
        return self.params_b is not None or self.stated_gb is not None
