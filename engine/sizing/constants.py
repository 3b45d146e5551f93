"""The constants of the sizing formulas, read once from ``knowledge/sizing.yaml``."""

from functools import cache
from pathlib import Path

from whichgpu.engine.core import FrozenModel, read_constants, traceable
from whichgpu.engine.sizing.constants_of_generators import Diffusion
from whichgpu.engine.sizing.constants_of_networks import Vision
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


class DriverContext(FrozenModel):
    """The driver's context on one GPU, GiB."""

    default_gib: float
    by_architecture: dict[str, float]
    low_gib: float
    high_gib: float
    eager_before: str  # version of PyTorch from which on kernels are loaded as they are used
    eager_more_gib: float  # before, on top
    eager_smaller_before: str  # version of PyTorch whose libraries had fewer kernels
    eager_gib: float  # of those, in all
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


class Collectives(FrozenModel):
    """What NCCL allocates on a GPU, GiB."""

    communicator_gib: float  # for each process group
    peer_gib: float  # for each GPU of the machine with which numbers are exchanged by send and receive
    peers: int  # of a GPU, at most
    once_for: tuple[str, ...]  # frameworks without process groups of PyTorch's kind: one communicator is counted
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
    speech_spoken: Constant
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
    context: DriverContext
    allocator: Allocator
    collectives: Collectives
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
