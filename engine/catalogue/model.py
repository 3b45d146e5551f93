"""Catalogue records: accelerators, models, rental offers. Every record says where it comes from."""

from typing import Annotated, Literal

from msgspec import Meta, field

from whichgpu.engine.core import FrozenModel


#: Figures of what exists: a zero or a negative one is a slip, and so is one beyond all that is built.
Positive = Annotated[float, Meta(gt=0, le=1e9)]
NotNegative = Annotated[float, Meta(ge=0, le=1e9)]
Count = Annotated[int, Meta(ge=1, le=10**9)]
Whole = Annotated[int, Meta(ge=0, le=10**9)]

Link = Literal[
    "none", "pcie", "nvlink-bridge", "nvlink", "xgmi-bridge", "xgmi", "ici", "neuronlink", "roce", "ethernet"
]
ModelKind = Literal[
    "llm",
    "encoder",
    "encoder_decoder",
    "vision",
    "detection",
    "diffusion_image",
    "diffusion_video",
    "speech",
    "multimodal",
    "other",
]


class Gpu(FrozenModel):
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
    compute_capability: NotNegative | None = None
    target: str | None = None  # the compiler's name of the chip: gfx942, ...
    launch: str | None = None  # ISO date or year-month
    vram_gb: Positive | None = None  # as marketed
    devices: Count = 1  # devices that software sees per board (MI250X: two of half the memory)
    device_mib: Count | None = None  # memory of the board as the driver reports it
    cuda_mib: Count | None = None  # memory that CUDA offers a process, where it was seen
    device_reading: str | None = None  # the driver's own words
    usable_gb: Positive | None = None  # what a job can really have, decimal GB
    usable_assumed: bool = False  # no device reading: marketed x 1.0737 x 0.985
    mem_type: str | None = None
    mem_bw_tbs: Positive | None = None
    tflops: dict[str, Positive] = field(default_factory=dict)  # fp32, tf32, fp16, bf16, fp8, int8, fp4: dense
    achieved: dict[str, Positive] = field(default_factory=dict)  # measured share of peak matmul, by precision
    matrix_units: bool | None = None  # tensor cores, or what the vendor calls its own
    sparse_tops: Positive | None = None
    link: Link = "pcie"
    link_gbs: Positive | None = None
    link_domain: Count | None = None  # how many GPUs one fast-link domain holds
    node_gpus: Count = 8  # how many fit one node
    pcie_gen: Positive | None = None
    host_gbs: Positive | None = None  # one way between its memory and the host's, where that is no PCIe
    unified_memory: bool = False  # its memory is the host's
    tdp_w: Positive | None = None
    mig_max: Whole = 0
    mig_profiles: tuple[str, ...] = ()
    ecc: bool | None = None
    retail: bool | None = None  # sold as a card, not only inside a system
    sold_as: str | None = None
    list_usd: Positive | None = None  # the vendor's price at launch
    buy_usd: Positive | None = None  # typical price of one, see buy_basis
    buy_low_usd: Positive | None = None
    buy_high_usd: Positive | None = None
    buy_basis: Literal["street", "list", "used", "estimate"] | None = None
    used_low_usd: Positive | None = None
    used_high_usd: Positive | None = None
    buy_as_of: str | None = None
    sw_stack: str | None = None  # cuda, rocm, xla, neuron, poplar, metal, ...
    plannable: bool = True
    not_plannable_because: str | None = None
    generation_lag: Whole | None = None  # generations behind the vendor's newest, from knowledge/generations.yaml
    parent: str | None = None  # a MIG slice names the whole card
    facts: dict[str, bool | float | str] = field(default_factory=dict)  # further gpu.* facts of the vocabulary
    evidence: dict[str, tuple[str, ...]] = field(default_factory=dict)  # field -> source ids
    disagreements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Moe(FrozenModel):
    """Mixture of experts."""

    experts: Count
    experts_per_token: Count
    expert_intermediate: Count | None = None
    expert_hidden: Count | None = None  # width that experts read and write, where it is not the model's
    shared_intermediate: Whole | None = None  # all shared experts together
    first_dense_layers: Whole = 0
    every: Count = 1  # one layer in so many has experts, the others are dense
    one_table: bool = False  # the experts of a layer are one parameter in every release of transformers


class Mla(FrozenModel):
    """Multi-head latent attention: what is cached per token is latent + rope, on every tensor rank."""

    kv_lora_rank: Count
    qk_rope_head_dim: Whole
    q_lora_rank: Count | None = None
    qk_nope_head_dim: Whole | None = None
    v_head_dim: Count | None = None


class Latent(FrozenModel):
    """The space that an image or video generator works in."""

    channels: Count
    spatial: Count  # pixels of an edge that become one place
    temporal: Count = 1  # frames that become one
    patch: Count | None = None  # places of an edge that become one token


class ModelSpec(FrozenModel):
    """One neural network. ``kind`` says which sizing applies; unpublished dimensions are None."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    kind: ModelKind
    params_b: Positive | None = None
    active_params_b: Positive | None = None
    layers: Count | None = None
    hidden: Count | None = None
    heads: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    intermediate: Count | None = None
    vocab: Count | None = None
    max_context: Count | None = None
    gated_mlp: bool | None = None
    tied_embeddings: bool | None = None
    qk_norm: bool = False  # query and keys are normalised before attention
    bias: Literal["none", "qkv", "all"] = "none"  # which linear layers have one
    learned_positions: Whole | None = None  # rows of a learned position table
    embedding_width: Count | None = None  # of the tables of words and positions, where it is not that of the layers
    distinct_layers: Count | None = None  # layers with weights of their own, where the others share theirs
    decoder_layers: Whole | None = None  # encoder-decoder: ``layers`` are the encoder's; 0: an encoder alone
    sliding_window: Count | None = None
    full_attention_layers: Whole | None = None  # layers whose KV grows with the whole context
    sliding_layers: Whole | None = None  # layers whose KV stops at the window
    full_kv_heads: Count | None = None  # heads of keys where the whole context is attended, if they differ there
    full_head_dim: Count | None = None  # width of a head there
    kv_shared_layers: Whole = 0  # layers that read what earlier ones cached, and keep nothing themselves
    linear_layers: Whole | None = None  # layers with a fixed state (Mamba, linear attention)
    concatenates_cache: bool = False  # its own code joins old and new keys and values into a new cache at each step
    joins_layers: bool = False  # its own code joins the caches of a prompt's layers into one tensor, layer by layer
    fused_gate: bool = False  # gate and up are one matrix, whose output stays while their product is made
    fused_qkv: bool = False  # query, key and value are one matrix, and values a part of what comes out of it
    parallel_branches: bool = False  # attention and the feed-forward part of a layer read the same input
    partial_rotary: bool = False  # some numbers of a head are rotated, and joined with the others again
    capped_logits: bool = False  # through a hyperbolic tangent, whose answer stays until the backward pass
    drops_out: bool = False  # its configuration drops scores, and what parts of a layer add, while it learns
    plain_loss: Literal["own", "transformers"] | None = None  # its own code, or an old class, does not cast answers
    moe: Moe | None = None
    mla: Mla | None = None
    native_precision: str | None = None  # mxfp4, fp8 where the published weights are
    native_expert_precision: str | None = None  # of routed experts, where they were published narrower than the rest
    gmacs_per_image: Positive | None = None
    macts_per_image: Positive | None = (
        None  # millions of numbers that its layers give for an image of ``resolution_px``
    )
    kept_per_pixel: Positive | None = None  # numbers that training keeps of a pixel at its peak, as traced
    kept_classes: Whole = (
        0  # classes of a pixel that the traced network distinguished, whose scores are in these numbers
    )
    kept_per_pixel_mixed: Positive | None = None  # the same under autocast, which keeps norms and scores in 32 bits too
    gflops_per_step: Positive | None = None  # diffusion: one denoising step of one image or clip
    resolution_px: Count | None = None
    trains_px_above: Whole = 0  # pixels of an edge by which the largest pictures of its training exceed the stated size
    frames: Count | None = None  # of the clip that a video model was made for
    denoising_steps: Count | None = None  # diffusion: as its authors' pipeline takes by default
    guidance_passes: Count | None = (
        None  # diffusion: evaluations a step; 1 where guidance is distilled into the weights
    )
    pictures_read: Whole = 0  # diffusion: given pictures whose tokens the denoiser reads beside those it makes
    components_b: dict[str, NotNegative] = field(default_factory=dict)  # text_encoder, vae, language, ...
    latent: Latent | None = None  # diffusion
    embedding_dim: Count | None = None  # of the vectors that an encoder gives
    published_file_gib: Positive | None = None  # weights file as published
    dims_partial: bool = False  # the dimensions do not give the whole layout, so parameters cannot be counted
    dims_differ_because: str | None = None  # why the published size is not the one that the dimensions give
    evidence: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Offer(FrozenModel, omit_defaults=True):
    """One rentable shape of the dated price snapshot."""

    provider: str
    provider_class: str  # hyperscaler, neocloud, serverless, marketplace, managed, ...
    instance: str | None
    gpu: str  # id, or family where the offer does not name the form
    count: int
    usd_per_hour: float
    spot_usd_per_hour: float | None = None
    one_year_usd_per_hour: float | None = None  # for the whole instance, committed to for a year
    three_years_usd_per_hour: float | None = None
    region: str | None = None
    as_of: str  # ISO date
    source: str
    committed_source: str | None = None  # of the committed prices, where it is not the source of the row
    quota_gpus: int | None = None  # how many GPUs of it the provider lets one customer have at once
    lead_time_days: float | None = None  # from the order until it runs
    spot_only: bool = False  # no firm price: usd_per_hour is the interruptible one too
    own: bool = False  # of the user's own list or of a layer: it goes before what the snapshot says

    @property
    def cites(self) -> tuple[str, ...]:
        """The ids of the sources that its prices come from."""
        return (self.source,) if self.committed_source is None else (self.source, self.committed_source)


class SourceRecord(FrozenModel):
    """Where knowledge comes from: a guide, a data set, a paper, a page."""

    id: str
    title: str
    kind: Literal["guide", "data", "paper", "report", "page", "judgement"]
    date: str | None = None  # ISO date or part of one; None where the source has none
    url: str | None = None
    publisher: str | None = None
    seller: bool = False  # it sells what it writes about
    runs: bool = False  # it says how models ran, not how they are built
    licence: str | None = None
    sections: dict[str, str] = field(default_factory=dict)  # by what they are cited by: id/section; their headings
    notes: tuple[str, ...] = ()

    def section(self, cited: str) -> str:
        """A section for people, with its heading where that is known: ``section 3.4 "For multi-node scaling"``."""
        heading = self.sections.get(cited)
        if not heading:
            return cited
        return f'section {cited} "{heading}"' if cited[:1].isdigit() else f'section "{heading}"'


class MemoryReserve(FrozenModel):
    """What the driver keeps of a device's memory for itself: ``base_mib`` plus ``share`` of the device."""

    vendor: str
    base_mib: float
    share: float = 0.0
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()


class CostItem(FrozenModel):
    """One dated cost: a system's price or power, electricity, colocation, staff, ..."""

    id: str
    topic: Literal["system_price", "system_power", "electricity", "pue", "colocation", "staff", "server", "share"]
    what: str
    unit: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    as_of: str | None = None
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()
