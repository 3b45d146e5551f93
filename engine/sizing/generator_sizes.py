"""What an image or video generator is made of: the sizes of its parts, and the tokens that its denoiser sees."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_generators import Denoiser
from whichgpu.engine.sizing.generator_parts import SAME_WEIGHTS, nearest, traced_denoiser
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import TermKind


COMPONENTS = TermKind(
    "weights",
    "denoiser, text encoders and autoencoder x their bytes, under offload the largest of them; what looks at pictures"
    " that come out",
    ("denoiser_b", "text_encoders_b", "vae_b", "weight_precision", "offload"),
    "FLUX.1-dev in bf16 loads 31.45 GiB, as this gives",
)
#: Formats under which transformers keeps T5's output projections in 32 bits: fp16, and those of bitsandbytes.
KEEPS_WIDE = frozenset({"fp16", "nf4", "nf4-dq"})
#: Layers of an encoder of prompts, as T5's XXL has them.
_ENCODER_LAYERS = 24.0


class Generator(Struct, frozen=True):
    """Sizes in billions; a denoiser of unknown dimensions as a transformer of typical shape."""

    denoiser_b: float
    network_b: float  # the largest of its networks: stages and experts by noise compute, and are trained, one by one
    encoders_b: tuple[float, ...]  # what reads prompts, each for itself
    vae_b: float
    checker_b: float  # of what looks at the pictures that come out, which offload leaves on the GPU
    width: float
    layers: float
    patch_px: float  # pixels of an edge that become one token
    frames_per_latent: float
    traced: Denoiser | None = None

    @property
    def text_b(self) -> float:
        """Parameters of all text encoders."""
        return sum(self.encoders_b)


def generator_of(job: Job) -> Generator:
    """The components of the job's model; those that the catalogue does not list are taken by the denoiser's size."""
    constants = sizing_constants()
    known = constants.diffusion
    vae = denoiser = checker = largest = 0.0
    encoders: list[float] = []
    parts = job.model.components_b if job.model else {}
    for name, size in sorted(parts.items()):
        if "vae" in name or "autoencoder" in name:
            vae += size
        elif "checker" in name:
            checker += size
        elif any(word in name for word in ("text", "clip", "t5", "encoder", "guardrail")):
            encoders.append(size)
        else:
            denoiser += size
            largest = max(largest, size)
    if not denoiser:
        denoiser = max((job.params_b or 0.0) - sum(encoders) - vae, 1e-3)
    # What joins an encoder to a denoiser computes with it.
    network = largest + parts.get("connector", 0.0) if largest else denoiser
    small = denoiser <= known.denoiser_small_b.value
    if not sum(encoders) and "text_encoder" not in parts:  # One of size 0: the denoiser reads prompts itself.
        medium = denoiser <= known.denoiser_medium_b.value and job.family == "diffusion_image"
        video = job.family == "diffusion_video"
        by_clip = denoiser <= known.text_encoder_clip_only_b.value if video else small
        clip = known.text_encoder_small_b.value
        more = (known.text_encoder_medium_b if medium else known.text_encoder_large_b).value - clip
        encoders = [clip] if by_clip else [clip, more]
    # h = 128 L and 12 h^2 parameters a layer, as in published transformers.
    ratio = constants.typical.hidden_per_layer
    width = (network * 1e9 * ratio / 12.0) ** (1.0 / 3.0)
    traced = traced_denoiser(job.model, network)
    native = job.model.resolution_px if job.model else None
    early = native is not None and native <= 768 and job.family == "diffusion_image"
    patch = known.patch_px_small.value if early else known.patch_px.value
    if traced is None and early and small:
        traced = known.denoisers["unet-sd1"]  # Its descendants have other names.
    depth, latent = width / ratio, job.model.latent if job.model else None
    for known_to in (job.model, traced):
        if known_to is not None and known_to.hidden and known_to.layers:
            width, depth = float(known_to.hidden), float(known_to.layers)
            break
    if latent is not None and latent.patch:
        patch = float(latent.spatial * latent.patch)
    compressed = latent.temporal if latent is not None and latent.temporal > 1 else known.frames_per_latent.value
    vae = vae or known.vae_b.value
    return Generator(denoiser, network, tuple(encoders), vae, checker, width, depth, patch, compressed, traced)


def tokens_of(job: Job, generator: Generator) -> float:
    """Tokens that the denoiser sees for one sample: patches of latent frames and of given pictures, and the prompt."""
    frames = 1.0 + (job.model.pictures_read if job.model else 0)
    if job.family == "diffusion_video":
        frames += (job.frames - 1) / generator.frames_per_latent
    beside = generator.traced.text_tokens if generator.traced else sizing_constants().diffusion.text_tokens.value
    return frames * pixels_of(job) / generator.patch_px**2 + beside


def pixels_of(job: Job) -> float:
    """Pixels of a picture or frame; where its long edge alone is stated video is 16:9, pictures are square."""
    return job.pixels(9.0 / 16.0 if job.family == "diffusion_video" else 1.0)


def encoders_gb(job: Job, generator: Generator) -> float:
    """GB of the text encoders: in their own format where one is stated, else in the denoiser's.

    T5's output projections stay in 32 bits where the rest is loaded in fp16 or by bitsandbytes; no other quantiser of
    transformers converts them either, so that they stay in 16.
    """
    form = job.text_encoder_precision or job.weight_precision
    per = plain = sizing_constants().weights[form].body
    whole = job.engine_stated and job.engine == "diffusers" and form == "fp32"
    # Pipelines of diffusers load every part in the type that is asked of them; elsewhere large text encoders are
    # published in 16 bits, whatever the denoiser is.
    if not whole and generator.text_b > 1.0 and job.text_encoder_precision is None:
        plain = min(per, 2.0)
    left = 4.0 if form in KEEPS_WIDE else 2.0
    wide = 0.0 if form == "fp32" else sum(map(_wide_b, generator.encoders_b))
    return generator.text_b * plain + wide * max(0.0, left - plain)


def _wide_b(size_b: float) -> float:
    """Output projections of a text encoder of T5's architecture, in billions; 0 of any other: sizes tell them apart."""
    alike = nearest(sizing_constants().diffusion.t5_encoders.values(), size_b, SAME_WEIGHTS)
    return alike.wide_b if alike is not None else 0.0


def fetched_gb(job: Job) -> float:
    """GB that pass to the GPU for a batch of pictures while each part waits in the memory of the host for its turn."""
    generator, weights = generator_of(job), sizing_constants().weights
    denoiser = generator.denoiser_b * weights[job.weight_precision].body
    return denoiser + encoders_gb(job, generator) + generator.vae_b * 2.0


def waits_by_layers(job: Job, generator: Generator) -> bool:
    """Whether all blocks wait: by programs that then fetch encoders of prompts layer by layer too.

    Sequential and group offloading of diffusers go over all parts (pipelines/pipeline_utils.py), and so does the
    management of memory by DiffSynth-Studio (diffsynth/pipelines/wan_video.py); who swaps blocks alone keeps some.
    """
    return job.blocks_offloaded is not None and job.blocks_offloaded >= generator.layers


def fetched_encoder_gb(job: Job, generator: Generator) -> float:
    """GB of encoders whose layers are fetched one by one: the table of tokens, or a layer and the next of 24."""
    largest = max(generator.encoders_b, default=0.0)
    if not largest:
        return 0.0
    alike = nearest(sizing_constants().diffusion.t5_encoders.values(), largest, SAME_WEIGHTS)
    table = alike.table_b if alike is not None else 0.0
    return max(table, 2.0 * (largest - table) / _ENCODER_LAYERS) * encoders_gb(job, generator) / generator.text_b


def resident_share(job: Job, generator: Generator) -> float:
    """What is on the GPU of a denoiser some of whose blocks wait: the others, the one that computes and the next."""
    if job.blocks_offloaded is None:
        return 1.0
    return min(1.0, max(2.0, generator.layers - job.blocks_offloaded + 2.0) / generator.layers)
