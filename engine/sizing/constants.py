"""The constants of the sizing formulas, read once from ``knowledge/sizing.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from whichgpu.engine.core import FrozenModel, read_constants, traceable
from whichgpu.engine.sizing.constants_of_training import Constant, Training


class Default(FrozenModel):
    """What is taken when a workload says nothing, and why that had to be."""

    value: float
    because: str


class WeightFormat(FrozenModel):
    """Bytes per stored parameter."""

    body: float
    ends_16bit: bool = False  # embedding and head stay in 16 bits
    scales: float = 0.0  # of ``body``, what lies beside the parameter: sharding and offload leave it where it is
    source: str


class EngineStep(FrozenModel):
    """The largest step of an engine, which it runs when it starts to see how much it has to keep free."""

    tokens: int
    tokens_small: int  # on cards below ``large_card_gb`` and on A100s
    sequences: int  # that a token is sampled for
    sequences_small: int
    sampler_bytes: float  # for each sequence and word of the vocabulary
    sampler_mib: float = 0.0  # whatever the model


class StepEnds(FrozenModel):
    """Ends of what an engine's largest step takes, as shares of what is computed."""

    low: float
    high: float
    source: str


class EngineReserve(FrozenModel):
    """What a serving engine takes beside weights and KV cache, GiB per GPU."""

    before: str | None = None  # holds for versions below this one
    activation_gib: float = 0.0  # at the usual chunk of prompt tokens, where no step tells
    step: EngineStep | None = None
    whole_prompts_to: int | None = None  # prompts up to so many tokens pass in one piece, whose peak is kept free
    answers_prompts: bool = False  # the head answers every token of a prompt while the engine tries its largest step
    activation_moe_gib: float | None = None
    outside_gib: float
    outside_split_gib: float
    graphs_gib: float
    low_gib: float
    high_gib: float
    card_share: float = 1.0  # of the card's memory, which weights, cache and activations may take
    source: str

    @property
    def keeps_free(self) -> bool:
        """Whether the engine keeps memory free for its steps, whatever is asked of it."""
        return self.step is not None or self.activation_gib > 0


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
    whole_logits_before: str  # the head answers for every token of a prompt
    logit_bytes: float  # of such an answer, in 16 bits and copied in 32
    source: str


class FusedExperts(FrozenModel):
    """Experts that are one table for each layer, which quantisers of linear layers leave as they are."""

    formats: tuple[str, ...]  # of those quantisers
    since: str  # version of transformers from which the experts of every model are such a table
    source: str


class Context(FrozenModel):
    """The driver's context on one GPU, GiB."""

    default_gib: float
    by_architecture: dict[str, float]
    low_gib: float
    high_gib: float
    eager_before: str  # version of PyTorch from which on kernels are loaded as they are used
    eager_gib: float  # before
    eager_source: str
    fused_since: str  # version of PyTorch that fuses attention
    source: str


class Allocator(FrozenModel):
    """What the caching allocator holds beyond the tensors, as a share of them."""

    one_gpu: float
    data_parallel: float
    sharded: float
    serving: float
    source: str


class Typical(FrozenModel):
    """The shape of a published dense decoder, for models known only by their size."""

    hidden_per_layer: int
    head_dim: int
    kv_heads: int
    intermediate_ratio: float
    vocab: int
    encoders_b: float  # of pictures, beside a language model
    encoders_share: float  # of the whole model, at most
    encoder_layers: int
    encoder_patch_px: int
    encoder_picture_px: int
    low_factor: float
    high_factor: float
    source: str


class KeptByDenoiser(FrozenModel):
    """Bytes for each token, width and layer, of a UNet for each pixel, that wait for the backward pass in 16 bits."""

    full: float
    full_autocast: float
    lora: float  # adapters on the matrices of attention
    lora_autocast: float


class Denoiser(FrozenModel):
    """A denoiser as traced; dimensions only of transformers."""

    params_b: float
    latent: tuple[int, int, int]  # channels, pixels of an edge and frames that become one place
    hidden: int | None = None
    layers: int | None = None
    text_tokens: int = 0  # in its stream, or what keys and values of the prompt keep beside it
    attentions: int = 1  # in a layer, each with matrices of its own: 2 where the prompt is attended to apart
    kept: KeptByDenoiser
    own_code: float | None = None  # numbers of a token and width while its authors' code computes a block
    checkpointed: float | None = None  # of a UNet: bytes for each pixel under full checkpointing
    scores: float = 0.0  # of a UNet: attention's scores for each pixel and pixel of the picture
    scores_at_once: float = 0.0  # the same of the block that has most of them
    blocks: int = 0  # of a UNet: of attention and of convolutions, one after the other
    decodes_wide: bool = False  # its autoencoder overflows in fp16, so that pipelines decode in 32 bits


class HeldByDecoder(FrozenModel):
    """What an autoencoder of clips holds at its peak beside its weights, as traced, where it decodes a clip whole."""

    params_b: float
    latent: tuple[int, int, int]  # channels, pixels of an edge and frames that become one place
    held: tuple[tuple[int, float], ...]  # latent frames, and bytes for each pixel of a frame


class WideEncoder(FrozenModel):
    """A text encoder of T5's architecture: all of it, and its output projections, in billions."""

    params_b: float
    wide_b: float


class Columns(FrozenModel):
    """Releases of PyTorch in which an autoencoder of clips in 16 bits convolves by columns, and their bytes."""

    since: str
    before: str
    params_b: float  # of the autoencoder
    bytes_per_pixel: float  # of a frame that is decoded
    frames: int  # that its last convolutions see together, of a clip
    source: str


class Diffusion(FrozenModel):
    """Image and video generators."""

    text_encoder_small_b: Constant
    text_encoder_medium_b: Constant
    text_encoder_large_b: Constant
    text_encoder_clip_only_b: Constant
    vae_b: Constant
    denoiser_small_b: Constant
    denoiser_medium_b: Constant
    t5_encoders: dict[str, WideEncoder]
    t5_encoders_source: str
    vae_bytes_per_pixel: Constant
    vae_bytes_per_pixel_wide: Constant  # where it decodes in 32 bits
    score_bytes: Constant  # of attention that is not fused, while pictures are made
    pictures_at_once: Constant  # frames of a clip that an autoencoder of pictures decodes together
    clip_decoders: dict[str, HeldByDecoder]
    columns: Columns
    infer_elements_per_hidden: Constant
    kept: KeptByDenoiser
    kept_source: str
    denoisers: dict[str, Denoiser]
    denoisers_source: str
    patch_px_small: Constant
    patch_px: Constant
    text_tokens: Constant
    frames_per_latent: Constant


class Backbone(FrozenModel):
    """A backbone without its classifier; GMAC at 224 pixels."""

    params_m: float
    gmacs: float


class Windowed(FrozenModel):
    """A backbone that attends within windows: as above, and elements for each pixel that it holds, as traced."""

    params_m: float
    gmacs: float
    per_pixel: float
    per_pixel_mixed: float  # under autocast, of 2 bytes each


class Head(FrozenModel):
    """What stands on a backbone: parameters, GMAC at the native size, and maps kept for the backward pass."""

    params_m: float
    gmacs: float
    per_pixel: float  # elements for each pixel of the picture
    fixed_m: float  # million elements for each picture, whatever its size
    per_class: float = 0.0  # elements for each pixel and class


class Parts(FrozenModel):
    """Of what detectors and segmenters are composed."""

    backbones: dict[str, Backbone]
    windowed: dict[str, Windowed]
    heads: dict[str, Head]
    regions: int
    working_copies: Constant
    working_pyramid: Constant
    class_maps: Constant
    classes: Constant
    detected_classes: Constant
    source: str


class Vision(FrozenModel):
    """Convolutional and vision networks."""

    activations_per_gmac: Constant
    activations_exponent: Constant
    kept_per_activation: Constant
    kept_per_activation_of: dict[str, Constant]  # of families, by how their names begin
    kept_per_output: Constant  # of those that are published
    live_share: Constant
    gmacs_per_param_b: Constant
    native_px: Constant
    detection_px: Constant
    attended_bytes: Constant
    attended_ratio: Constant
    area_scores: dict[str, float]  # of YOLO12, of all layers, for each pair of sixteenths of the picture's edges
    matched_bytes: Constant  # of a place that a detector answers for, while answers are matched to what is there
    matched_class_bytes: Constant  # the same for each class
    matched_classes: Constant
    parts: Parts


class Other(FrozenModel):
    """Networks known by their size only."""

    activations_share: Constant
    speech_weight_bytes: Constant
    speech_loading_bytes: Constant
    speech_beams: Constant
    speech_head_dim: Constant
    speech_ratio: Constant
    speech_positions: Constant
    speech_words: Constant
    speech_vocab: Constant


class FitChangeText(FrozenModel):
    """A change that makes a job lighter, and what it costs."""

    change: str
    costs: str
    source: str
    other_work: bool = False  # less is done, or something else: shorter texts, fewer requests


class SizingConstants(FrozenModel):
    """Everything in ``knowledge/sizing.yaml``."""

    weights: dict[str, WeightFormat]
    kv_cache: dict[str, float]
    kv_source: str
    engines: dict[str, tuple[EngineReserve, ...]]
    large_card_gb: Constant
    engine_step_ends: StepEnds
    plain_code: PlainCode
    joined_caches: Constant
    joined_caches_most: Constant
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
    fit_changes: dict[str, FitChangeText]


@traceable("sizing")
@cache
def sizing_constants(folder: Path | None = None) -> SizingConstants:
    """The constants of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(SizingConstants, "sizing.yaml", folder)
