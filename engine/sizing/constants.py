"""The constants of the sizing formulas, read once from ``knowledge/sizing.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from whichgpu.engine.core import FrozenModel, read_constants, traceable


class Constant(FrozenModel):
    """One number and where it comes from."""

    value: float
    source: str
    rests_on: tuple[str, ...] = ()  # published sources whose rows it was chosen on; none: it is counted or quoted
    prior: float | None = None  # what is taken where the rows of those sources are left out; None: it stays


class Default(FrozenModel):
    """What is taken when a workload says nothing, and why that had to be."""

    value: float
    because: str


class WeightFormat(FrozenModel):
    """Bytes per stored parameter."""

    body: float
    ends_16bit: bool = False  # embedding and head stay in 16 bits
    source: str


class EngineReserve(FrozenModel):
    """What a serving engine takes beside weights and KV cache, GiB per GPU."""

    before: str | None = None  # holds for versions below this one
    activation_gib: float  # at the usual chunk of prompt tokens
    activation_small_share: float = 1.0  # of that, on cards below ``large_card_gb`` and on A100s
    whole_prompts_to: int | None = None  # prompts up to so many tokens pass in one piece, whose peak is kept free
    activation_moe_gib: float | None = None
    outside_gib: float
    outside_split_gib: float
    graphs_gib: float
    low_gib: float
    high_gib: float
    card_share: float = 1.0  # of the card's memory, which weights, cache and activations may take
    source: str


class Mxfp4Padding(FrozenModel):
    """Multiples to which the sides of experts are rounded up for the kernels of 4-bit floats."""

    hidden: int
    intermediate: int
    source: str


class PlainCode(FrozenModel):
    """What models of transformers take while they serve, by version: eager attention, and caches joined anew."""

    eager_before: str  # attention is eager unless stated
    score_bytes: float  # of a prompt under eager attention
    tuples_before: str  # old and new cache are both there in a step
    source: str


class FusedExperts(FrozenModel):
    """Experts that are one table for each layer, which quantisers of linear layers leave as they are."""

    formats: tuple[str, ...]  # of those quantisers
    since: str  # version of transformers from which the experts of every model are such a table
    source: str


class RecentPrefill(FrozenModel):
    """From a version on, a prompt's passing through a layer is hardly seen in the peak."""

    since: str
    share: Constant


class Context(FrozenModel):
    """The driver's context on one GPU, GiB."""

    default_gib: float
    by_architecture: dict[str, float]
    low_gib: float
    high_gib: float
    source: str


class Allocator(FrozenModel):
    """What the caching allocator holds beyond the tensors, as a share of them."""

    one_gpu: float
    data_parallel: float
    sharded: float
    serving: float
    source: str


class Recipe(FrozenModel):
    """Bytes per trained parameter, without the optimiser's moments."""

    weights: float
    gradients: float
    master: float
    source: str


class OptimizerState(FrozenModel):
    """Bytes of moments per trained parameter."""

    moments: float
    halves: bool
    source: str


class Rollout(FrozenModel):
    """How a framework answers prompts while it trains by reinforcement, and which models it keeps beside the actor."""

    here: bool  # on the GPUs that train
    sleeps: bool  # gives memory back while weights are updated
    shares_weights: bool = False  # answers with the trained weights themselves
    share: float | None = None  # of the card, that the engine takes
    reference: bool = True  # a frozen copy of the actor lies beside it, for every method
    source: str


class Framework(FrozenModel):
    """How a training framework departs from plain Hugging Face behaviour."""

    chunked_loss: bool = False
    chunked_loss_in_examples: bool = False  # chunked in its examples, not by default
    fused_loss: bool = False
    releases_gradients: bool = False
    foreach: bool = True
    checkpointing: str | None = None
    targets: str | None = None
    rank: int | None = None
    seq_len: int | None = None  # tokens of a sample
    recipe: str | None = None
    recipe_full: str | None = None  # of full fine-tuning only
    sequence_parallel: bool | None = None  # beside tensor parallelism
    frees_logits: bool = False  # logits in 16 bits are gone when the backward pass begins
    every_second_product: bool = False  # selective checkpointing keeps outputs of every second matrix product only
    offloads_checkpoints: bool = False  # what is recomputed from waits in host memory
    varying_lengths: bool = False  # samples are padded to the longest of their batch, not to one length
    gradient_bytes: float | None = None
    adapter_bytes: float | None = None
    batch: int | None = None  # its default micro-batch
    trains_around_frozen: bool = False  # frozen weights get gradients too where they are sharded with adapters
    loads_32bit: bool = False  # the base stays in 32 bits unless a precision is named
    pipeline_batch: int | None = None  # micro-batch inside a pipeline, whatever the batch of a step
    fuses_attention: bool = False  # whatever the model's own code does
    quantizes_experts: bool | None = None  # also where these are one table for each layer; None: not known
    rollout: str | None = None  # of the ways to answer prompts under ``rollouts``
    shards_weights: bool = True  # weights may be spread over data ranks (ZeRO-3, FSDP), or wait in host memory
    source: str


class Training(FrozenModel):
    """Constants of training memory."""

    recipes: dict[str, Recipe]
    optimizers: dict[str, OptimizerState]
    foreach_workspace: Constant
    norm_bytes: Constant
    logit_bytes: Constant
    logit_bytes_compiled: Constant
    logit_bytes_16bit: Constant
    chunked_loss_chunks: Constant
    attention_score_bytes: Constant
    selective_share: Constant
    largest_layer_bytes: Constant
    fetched_layer_bytes: Constant
    adapter_bytes: Constant
    fragmentation: Constant
    fragmentation_most: Constant
    frameworks: dict[str, Framework]
    rollouts: dict[str, Rollout]
    rollout_weights_gb: Constant


class Typical(FrozenModel):
    """The shape of a published dense decoder, for models known only by their size."""

    hidden_per_layer: int
    head_dim: int
    kv_heads: int
    intermediate_ratio: float
    vocab: int
    low_factor: float
    high_factor: float
    source: str


class Diffusion(FrozenModel):
    """Image and video generators."""

    text_encoder_small_b: Constant
    text_encoder_medium_b: Constant
    text_encoder_large_b: Constant
    vae_b: Constant
    denoiser_small_b: Constant
    denoiser_medium_b: Constant
    t5_wide_share: Constant
    t5_least_b: Constant
    vae_bytes_per_pixel: Constant
    infer_elements_per_hidden: Constant
    train_bytes_per_hidden: Constant
    patch_px_small: Constant
    patch_px: Constant
    text_tokens: Constant
    frames_per_latent: Constant


class Backbone(FrozenModel):
    """A backbone without its classifier; GMAC at 224 pixels."""

    params_m: float
    gmacs: float


class Head(FrozenModel):
    """What stands on a backbone: parameters, GMAC at the native size, and maps kept for the backward pass."""

    params_m: float
    gmacs: float
    per_pixel: float  # elements for each pixel of the picture
    fixed_m: float  # million elements for each picture, whatever its size


class Parts(FrozenModel):
    """Of what detectors and segmenters are composed."""

    backbones: dict[str, Backbone]
    heads: dict[str, Head]
    regions: int
    working_copies: Constant
    working_pyramid: Constant
    class_maps: Constant
    classes: Constant
    source: str


class Vision(FrozenModel):
    """Convolutional and vision networks."""

    activations_per_gmac: Constant
    activations_exponent: Constant
    kept_per_activation: Constant
    live_share: Constant
    gmacs_per_param_b: Constant
    native_px: Constant
    detection_px: Constant
    attended_bytes: Constant
    attended_ratio: Constant
    parts: Parts


class Other(FrozenModel):
    """Networks known by their size only."""

    activations_share: Constant
    speech_weight_bytes: Constant
    speech_loading_bytes: Constant
    speech_beams: Constant
    speech_ratio: Constant
    speech_positions: Constant
    speech_words: Constant
    speech_vocab: Constant


class RemedyText(FrozenModel):
    """A change that makes a job lighter, and what it costs."""

    change: str
    costs: str
    source: str


class SizingConstants(FrozenModel):
    """Everything in ``knowledge/sizing.yaml``."""

    weights: dict[str, WeightFormat]
    kv_cache: dict[str, float]
    kv_source: str
    engines: dict[str, tuple[EngineReserve, ...]]
    large_card_gb: Constant
    recent_prefill: RecentPrefill
    plain_code: PlainCode
    mxfp4_padding: Mxfp4Padding
    fused_experts: FusedExperts
    context: Context
    allocator: Allocator
    collectives_gib: Constant
    training: Training
    typical: Typical
    diffusion: Diffusion
    vision: Vision
    other: Other
    defaults: dict[str, Default]
    remedies: dict[str, RemedyText]


@traceable("sizing")
@cache
def sizing_constants(folder: Path | None = None) -> SizingConstants:
    """The constants of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(SizingConstants, "sizing.yaml", folder)
