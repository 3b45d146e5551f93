"""Speed of image and video generators: the steps of a denoiser, and encoding and decoding around them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.generator_parts import traced_denoiser
from whichgpu.engine.sizing.generator_sizes import fetched_gb
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.network_training import trained_weights_of, training_run
from whichgpu.engine.sizing.rows import Ints, ceiling
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_encode_decode import encode_and_decode_s
from whichgpu.engine.sizing.speed_kernels import starting_s
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s
from whichgpu.engine.sizing.speed_peaks import NARROW, serving_precisions, training_precisions


_SIXTEEN_BITS = 2.0  # bytes


def generator_values(
    job: Job, table: GpuTable, which: Ints, split: Split, demand: Demand, pick: Pick
) -> dict[str, Any]:
    """Figures of an image or video generator over all GPUs of each row, by the steps of its denoiser.

    Empty where the size is unknown, NaN where the GPU's rates are.
    """
    rows, denoiser = split.rows, _denoiser_of(job)
    if denoiser is None:
        return {}
    diffusion, model = speed_constants().diffusion, job.model
    computing = _evaluation_s(job, denoiser, table, pick)[which]
    # A compiler or a captured graph starts them together.
    starting = 0.0 if job.compiled else denoiser.layers * diffusion.launch_us_per_layer.at(TURNED[pick]) * 1e-6
    if job.training:
        # A trainer has no guidance, and its text encoders and autoencoder have done their work beforehand.
        started = starting_s(job, denoiser.layers, denoiser.adapted if job.peft else 0.0, pick)
        learning = trained_weights_of(job, denoiser.layers, denoiser.adapted)._replace(params=denoiser.params)
        if not job.peft:
            learning = learning._replace(changed=denoiser.params)
        bus = table.host_bandwidth(pick)[which]
        values = training_run(job, 1.0 / computing, 1.0, split, learning, pick, bus, started)
        return {"samples_per_s": values["samples_per_s"], "images_per_s": values["samples_per_s"], **values}
    passes = (model.guidance_passes if model else None) or diffusion.guidance_passes.value
    steps = 1.0 * job.denoising_steps if job.denoising_steps else diffusion.steps.at(TURNED[pick])
    # A step is never shorter than the start of its kernels; of full batches the start does not count.
    replicas = rows.count // rows.tensor
    most = np.maximum(1.0, ceiling(rows.batch, replicas))
    if demand.capacity and demand.rate is None:
        most = np.maximum(most, starting / computing)
    frames = job.frames if job.family == "diffusion_video" else 1
    beside = encode_and_decode_s(job, table, which, passes, _pixels_of(job), frames, pick)
    fetching = fetched_gb(job) * 1e9 / table.host_bandwidth(pick)[which] if job.cpu_offload else 0.0

    def batch_s(batch: Any) -> Any:
        # Ranks share the products of a layer and add up what they come to after attention and after its other half.
        joining = 2.0 * denoiser.layers * all_reduce_s(batch * denoiser.exchanged, rows.tensor, split.tensor_link)
        evaluating = np.maximum(passes * (batch * computing / rows.tensor + joining), starting)
        return steps * evaluating + beside(batch) + fetching

    # A picture takes seconds, so that a queue feeds all replicas.
    server = BatchServer(batch_s, most, 0.0, replicas)
    values = batch_values(server, replicas, rows.batch, demand)
    values["steps_per_s"] = values["samples_per_s"] * steps
    if job.family == "diffusion_image":
        values["images_per_s"] = values["samples_per_s"]
    return values


class DenoiserWork(NamedTuple):
    """What one evaluation of a denoiser asks of any GPU."""

    products: float  # FLOPs with weights
    attention: float  # FLOPs of scores and values
    kept: float  # bytes between the products, each of which passes through memory several times
    layers: float
    adapted: float  # matrices of attention, to which adapters are fitted
    params: float
    exchanged: float  # bytes that tensor ranks sum twice a layer


def _evaluation_s(job: Job, denoiser: DenoiserWork, table: GpuTable, pick: Pick) -> Any:
    """Seconds of one evaluation on each GPU; NaN where a rate that it needs is unknown.

    Large products at the achievable rate, attention in 16 bits, and passes over memory between them.
    """
    diffusion = speed_constants().diffusion
    precisions = training_precisions(job) if job.training else serving_precisions(job.weight_precision)
    sixteen = tuple(name for name in precisions if name not in NARROW)
    # Quantised for diffusers, weights are unpacked to 16 bits before each product.
    unpacked = job.engine_stated and job.engine == "diffusers"
    wide = table.peaks(sixteen)
    peaks = wide if unpacked else table.peaks(precisions)
    scores = denoiser.attention / (wide.flops * wide.share * diffusion.attention_share.at(pick))
    passing = diffusion.memory_passes.at(TURNED[pick]) * denoiser.kept / table.bandwidth_in_reach(pick)
    return denoiser.products / (peaks.flops * peaks.share) + scores + passing


def _denoiser_of(job: Job) -> DenoiserWork | None:
    """One evaluation of the denoiser: published, scaled by the pixels, else 2 N for each token of the latent."""
    model, diffusion = job.model, speed_constants().diffusion
    parts = model.components_b if model else {}
    params_b = next((parts[name] for name in ("transformer", "unet", "denoiser") if name in parts), job.params_b)
    if params_b is None:
        return None
    if model is not None and model.active_params_b:
        params_b = min(params_b, model.active_params_b)
    params = params_b * 1e9
    # With h = 128 L and 12 h^2 parameters a layer.
    width = 1.0 * ((model.hidden if model else None) or (params * 128 / 12) ** (1 / 3))
    traced = traced_denoiser(model, params_b)
    blocks = traced.blocks if traced is not None else 0
    layers = 1.0 * ((model.layers if model else None) or blocks or max(1.0, params / (12 * width**2)))
    native = (model.resolution_px if model else None) or 1024
    video = job.family == "diffusion_video"
    shape = diffusion.video_width_share.value if video else 1.0
    pixels = _pixels_of(job)
    tokens = pixels / diffusion.px_per_token.value**2
    if video:
        tokens *= 1 + (job.frames - 1) / diffusion.frames_per_token.value
    convolves = "unet" in parts
    if convolves:
        tokens /= 4  # Most of a UNet works on maps of half the size and below.
    products = 2.0 * params * tokens
    if model is not None and model.gflops_per_step:  # Of the products: counters do not see fused attention.
        products = 1e9 * model.gflops_per_step * pixels / (shape * native**2)
    attention = 0.0 if convolves else 4.0 * layers * width * tokens**2
    # A layer of width h has 24 h^2 FLOPs a token, and keeps 32 h bytes. A UNet is narrow where its maps are large.
    kept = products * 32.0 / (24.0 * width)
    if job.training and convolves and traced is not None:
        how = ("lora" if job.peft else "full") + ("_autocast" if job.recipe == "mixed" else "")
        kept = pixels * getattr(traced.kept, how)
    # A block of a UNet attends to itself and to the prompt, with four matrices each.
    attentions = 2 if convolves else traced.attentions if traced is not None else 1
    adapted = 4.0 * attentions * layers
    return DenoiserWork(products, attention, kept, layers, adapted, params, tokens * width * _SIXTEEN_BITS)


def _pixels_of(job: Job) -> Any:
    """Pixels of a picture or a frame."""
    video = job.family == "diffusion_video"
    return job.pixels(speed_constants().diffusion.video_width_share.value if video else 1.0)
