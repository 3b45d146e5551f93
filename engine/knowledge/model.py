"""Catalogue records: accelerators, models, rental offers. Every record says where it comes from."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field


Link = Literal["none", "pcie", "nvlink-bridge", "nvlink", "xgmi-bridge", "xgmi", "ici", "neuronlink", "roce", "ethernet"]
NodeLink = Literal["none", "ethernet", "roce", "infiniband", "ici", "neuronlink"]


class Record(BaseModel):
    """Frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Gpu(Record):
    """One accelerator as it can be bought or rented. Tensor figures are dense; links count both directions, per GPU."""

    id: str  # nvidia-a100-80gb-sxm
    family: str  # nvidia-a100-80gb
    series: str  # nvidia-a100
    name: str
    aliases: tuple[str, ...] = ()
    vendor: str  # lower case: nvidia, amd, google, intel, aws, apple, graphcore, ...
    architecture: str | None = None  # hopper, ada_lovelace, ...
    segment: str | None = None  # consumer, professional, datacenter, edge, ...
    form_factor: str | None = None  # pcie, sxm, oam, system, ...
    compute_capability: float | None = None
    launch: str | None = None  # ISO date or year-month
    vram_gb: float | None = None  # as marketed
    usable_gb: float | None = None  # what a job can really have, decimal GB
    usable_assumed: bool = False  # no device reading: marketed x 1.0737 x 0.985
    mem_type: str | None = None
    mem_bw_tbs: float | None = None
    tflops: dict[str, float] = Field(default_factory=dict)  # fp32, tf32, fp16, bf16, fp8, int8, fp4: dense
    achieved: dict[str, float] = Field(default_factory=dict)  # measured share of peak matmul, by precision
    sparse_tops: float | None = None
    link: Link = "pcie"
    link_gbs: float | None = None
    link_domain: int | None = None  # how many GPUs one fast-link domain holds
    node_gpus: int = 8  # how many fit one node
    pcie_gen: float | None = None
    tdp_w: float | None = None
    mig_max: int = 0
    mig_profiles: tuple[str, ...] = ()
    ecc: bool | None = None
    retail: bool | None = None  # sold as a card, not only inside a system
    buy_usd: float | None = None  # typical street price of one
    buy_low_usd: float | None = None
    buy_high_usd: float | None = None
    buy_as_of: str | None = None
    sw_stack: str | None = None  # cuda, rocm, xla, neuron, poplar, metal, ...
    plannable: bool = True
    not_plannable_because: str | None = None
    parent: str | None = None  # a MIG slice names the whole card
    evidence: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # field -> source ids
    disagreements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Moe(Record):
    """Mixture of experts."""

    experts: int
    experts_per_token: int
    expert_intermediate: int | None = None
    shared_intermediate: int | None = None
    first_dense_layers: int = 0


class Mla(Record):
    """Multi-head latent attention: what is cached per token is latent + rope, on every tensor rank."""

    kv_lora_rank: int
    qk_rope_head_dim: int
    q_lora_rank: int | None = None
    qk_nope_head_dim: int | None = None
    v_head_dim: int | None = None


class ModelSpec(Record):
    """One neural network. ``kind`` says which sizing applies; dimensions that nobody published are None."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    kind: Literal["llm", "encoder", "encoder_decoder", "vision", "detection", "diffusion_image", "diffusion_video", "speech", "multimodal", "other"]
    params_b: float | None = None
    active_params_b: float | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate: int | None = None
    vocab: int | None = None
    max_context: int | None = None
    gated_mlp: bool | None = None
    tied_embeddings: bool | None = None
    sliding_window: int | None = None
    full_attention_layers: int | None = None  # layers whose KV grows with the whole context
    sliding_layers: int | None = None  # layers whose KV stops at the window
    linear_layers: int | None = None  # layers with a fixed state (Mamba, linear attention)
    moe: Moe | None = None
    mla: Mla | None = None
    native_precision: str | None = None  # mxfp4, fp8 where the published weights are
    gmacs_per_image: float | None = None
    resolution_px: int | None = None
    components_b: dict[str, float] = Field(default_factory=dict)  # diffusion: transformer/unet, text_encoder, vae in billions
    evidence: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    sources: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Offer(Record):
    """One rentable shape of the dated price snapshot."""

    provider: str
    provider_class: str  # hyperscaler, neocloud, serverless, marketplace, managed, ...
    instance: str | None
    gpu: str  # id, or family where the offer does not name the form
    count: int
    usd_per_hour: float
    spot_usd_per_hour: float | None = None
    region: str | None = None
    as_of: str  # ISO date
    source: str
