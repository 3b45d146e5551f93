"""The constants of the speed formulas, read once from ``knowledge/speed.yaml``."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from whichgpu.engine.core import Banded, FrozenModel, read_constants, traceable


class EngineSteps(FrozenModel):
    """What a serving engine adds to one decode step, microseconds; ``low`` and ``high`` scale it for the band."""

    before: str | None = None  # holds for versions below this one
    launch_floor_us: float
    per_layer_us: float
    per_step_us: float
    eager_beyond: int | None = None  # tokens of context beyond which captured graphs are not replayed
    eager_floor_us: float = 0.0  # the launch floor then
    prompt_floor: float = 1.0  # times the floor of a layer through which a prompt passes
    alone: bool = False  # prompts pass in steps of their own, for which those who decode wait
    low: float = 1.0
    high: float = 1.0
    source: str


class LinkUse(FrozenModel):
    """How much of a link collectives get, and how long a small one takes."""

    share: float
    latency_us: float
    gbs: float | None = None  # where the GPU itself has no such link
    source: str


class NodeLinkUse(FrozenModel):
    """A network between nodes."""

    share: float
    latency_us: float
    gbs_per_gpu: float | None = None
    gbs_per_gpu_ampere: float | None = None
    gbs_per_node: float | None = None
    source: str


class ServingSpeed(FrozenModel):
    """Serving of language models."""

    prefill_share: Banded
    prefill_share_moe: Banded
    decode_share: Banded
    request_overhead_ms: Banded
    batch_overhead_ms: Banded  # of encoders and image networks, whose server generates nothing
    token_attended_us: Banded
    per_sequence_us: Banded
    eager_layer_us: Banded
    eager_moe_layer_us: Banded
    exchange: Banded
    exchange_bytes: Banded
    clump: Banded
    tail: Banded
    draft_share: Banded
    step_tokens: Banded
    step_tokens_small: Banded
    max_sequences: Banded
    max_sequences_small: Banded
    bursts: dict[str, Banded]
    load_limit: Banded
    moe_per_layer_us: Banded
    gguf_use: Banded
    cache_copies: Banded
    fused_kernels: Banded  # of a layer whose modules are fused, started one by one


class ServingBand(FrozenModel):
    """How far a figure of a served language model may lie from its value."""

    of_ends: float  # power of what the ends of the constants make of it
    below: float  # times, beyond that
    above: float
    source: str

    def ends(self, value: Any, low: Any, high: Any) -> tuple[Any, Any]:
        """The band of a figure, from its values at the ends of the constants."""
        if np.any(value <= 0) or np.any(low <= 0):
            return low, high
        return value * (low / value) ** self.of_ends / self.below, value * (high / value) ** self.of_ends * self.above


class StartedKernels(FrozenModel):
    """How many kernels eager code starts for a layer and for an adapted matrix, and how long each takes to start."""

    layer: float  # of a pass forward
    layer_back: float
    adapter: float
    adapter_back: float
    start_us: Banded
    source: str


class TrainingSpeed(FrozenModel):
    """Training of transformers."""

    kernels: StartedKernels
    half_tokens: Banded
    half_tokens_qlora: Banded
    qlora_share: Banded
    attention_share: Banded
    memory_passes: Banded
    logit_passes: Banded
    expert_share: Banded
    interleaved_stages: Banded
    recompute_share: Banded
    overlap: Banded
    overlap_share_on_the_bus: Banded
    optimizer_bytes: Banded
    pretraining_step_tokens: Banded
    tuning_step_sequences: Banded
    pretraining_step_samples: dict[str, Banded]
    tuning_step_samples: dict[str, Banded]
    scale_loss_per_doubling: Banded
    scale_from_gpus: Banded


class ReinforcementSpeed(FrozenModel):
    """Reinforcement learning: answers that the model writes between two updates."""

    step_sequences: Banded
    answer_share: Banded
    card_share: Banded


class SpeechSpeed(FrozenModel):
    """Speech recognition."""

    window_seconds: Banded
    window_positions: Banded
    window_tokens: Banded
    share: Banded
    chunk_advance: Banded
    tokens_spread: Banded
    full_batch: Banded
    faster_whisper_batch: Banded
    training_share: Banded


class LookupSpeed(FrozenModel):
    """Recommenders by their look-ups."""

    share: Banded
    start_ms: Banded
    full_batch: Banded


class MapPasses(FrozenModel):
    """How often a number that a layer gives passes through memory, by what runs the network."""

    eager: Banded
    compiled: Banded
    engine: Banded
    unstated: Banded


class VisionSpeed(FrozenModel):
    """Convolutional and other image networks."""

    frames_per_second: Banded
    conv_training_use_fp32: Banded
    conv_share: Banded  # of the rate of large products
    conv_share_narrow: Banded  # the same in 8 bits and fewer
    map_passes: MapPasses
    training_start_ms: Banded  # of the kernels of a training pass, started one by one
    macs_per_param: Banded
    reference_px: Banded
    reference_px_detection: Banded


class Decoder(FrozenModel):
    """An autoencoder that makes pictures of latents."""

    params_b: float
    latent: tuple[int, int, int]  # channels, pixels of an edge and frames that become one place
    flops: float  # for each pixel of a frame
    attended: float  # FLOPs for each pixel and pixel of a frame
    bytes: float  # that operators between the products read and write for each pixel, in 16 bits


class PromptEncoder(FrozenModel):
    """An encoder of prompts."""

    params_b: float
    flops: float  # for each token
    tokens: int
    layers: int


class DiffusionSpeed(FrozenModel):
    """Image and video generation."""

    memory_passes: Banded
    attention_share: Banded
    launch_us_per_layer: Banded
    steps: Banded
    guidance_passes: Banded
    px_per_token: Banded
    frames_per_token: Banded
    video_width_share: Banded
    decoders: dict[str, Decoder]
    decoders_source: str
    decoder_use: Banded  # of the peak
    decoder_use_fp32: Banded
    text_encoders: dict[str, PromptEncoder]
    text_encoders_source: str
    prompt_tokens: Banded


class OffloadSpeed(FrozenModel):
    """What waits in the memory of the host."""

    bus_share: Banded
    host_memory_gbs: Banded


class SpeedConstants(FrozenModel):
    """Everything in ``knowledge/speed.yaml``."""

    memory_bandwidth_use: dict[str, Banded]
    engines: dict[str, tuple[EngineSteps, ...]]
    serving: ServingSpeed
    serving_bands: dict[str, ServingBand]
    matmul_share: dict[str, Banded]
    training_use: dict[str, Banded]
    training: TrainingSpeed
    reinforcement: ReinforcementSpeed
    speech: SpeechSpeed
    lookups: LookupSpeed
    vision: VisionSpeed
    diffusion: DiffusionSpeed
    links: dict[str, LinkUse]
    pcie_gbs: dict[int, float]
    pcie_default_gen: int
    no_peer_copy_share: float
    offload: OffloadSpeed
    node_links: dict[str, NodeLinkUse]


@traceable("speed")
@cache
def speed_constants(folder: Path | None = None) -> SpeedConstants:
    """The constants of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(SpeedConstants, "speed.yaml", folder)
