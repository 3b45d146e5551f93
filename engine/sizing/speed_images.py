"""Speed of networks that are no language models: image networks by their multiply-adds, diffusion by its steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.composed import composed_network
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.generator_parts import traced_denoiser
from whichgpu.engine.sizing.generator_sizes import fetched_gb
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.host_traffic import offloaded_s
from whichgpu.engine.sizing.intake_steps import usual_samples
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.network_maps import feature_maps, kept_for_gradients_gb
from whichgpu.engine.sizing.rows import Floats, Ints, Rows, ceiling
from whichgpu.engine.sizing.speed_coders import beside_steps
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_kernels import starting_s, with_starts
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s
from whichgpu.engine.sizing.speed_peaks import serving_precisions, training_precisions
from whichgpu.engine.sizing.speed_tokens import between_s, is_of_tokens
from whichgpu.engine.sizing.training_exchange import Learning, between_exchanges, data_exchange_s, unhidden_s
from whichgpu.engine.sizing.training_time import product_use


#: Layers of a network of which no more is known than its size: those of ResNet-50.
_LAYERS = 50.0
_SIXTEEN_BITS = 2.0  # bytes
_NARROW = frozenset({"fp4", "fp8", "int8"})
#: How maps pass memory, by the software that is stated; see ``map_passes`` in ``knowledge/speed.yaml``.
_PASSES = {"transformers": "eager", "tensorrt-llm": "engine"}


def image_values(
    job: Job, table: GpuTable, which: Ints, split: Split, demand: Demand, pick: Pick = "value"
) -> dict[str, Any]:
    """Figures of a vision, diffusion or other network over all GPUs of each row.

    Empty where the size is unknown, NaN where the GPU's rates are.
    """
    rows = split.rows
    if job.family.startswith("diffusion"):
        return _diffusion_values(job, table, which, split, demand, pick)
    flops = forward_flops(job)
    if flops is None:
        return {}
    rate = _rate(job, table, pick)[which]
    if job.training:
        # Of three passes: a recomputed one is a fourth.
        starting = speed_constants().vision.training_start_ms.at(TURNED[pick]) / 1e3
        starting *= 4.0 / 3.0 if job.checkpointing == "full" else 1.0
        passing = _kept_passing_s(job, table, which, rows, pick)
        bus = table.host_bandwidth(pick)[which]
        values = training_run(job, rate, flops, split, learning_of(job), pick, bus, starting, passing)
        return {"samples_per_s": values["samples_per_s"], "images_per_s": values["samples_per_s"], **values}
    each = flops / rate + (between_s if is_of_tokens(job) else _passing_s)(job, table, pick)[which]
    # Pictures pass one by one: those of a batch take as long together. Each goes to a replica that is free.
    outside = speed_constants().serving.batch_overhead_ms.at(TURNED[pick]) / 1e3
    server = BatchServer(lambda batch: batch * each, 1.0, outside, rows.count)
    values = batch_values(server, rows.count, rows.batch, demand)
    if demand.stream_per_s:
        values["max_streams"] = values["qps"] / demand.stream_per_s
    return {"images_per_s": values["samples_per_s"], **values}


def learning_of(job: Job, layers: float = _LAYERS, adapted: float = 0.0) -> Learning:
    """The weights of a network that is no language model, by its size.

    Args:
        job: what is trained.
        layers: of the network.
        adapted: matrices of width x width to which adapters are fitted. Where not known, 9 a layer: attention's four,
            and two of the feed-forward part, which are four times as wide and count two and a half each.
    """
    params = 1e9 * (job.params_b or 0.0)
    width = (params / (12.0 * layers)) ** 0.5
    changed = job.lora_rank * (adapted or 9.0 * layers) * 2.0 * width if job.peft else params
    return Learning(params, changed, layers)


def training_run(
    job: Job,
    rate: Floats,
    flops: float,
    split: Split,
    learning: Learning,
    pick: Pick,
    bus: Floats,
    starting: float = 0.0,
    passing: Any = 0.0,
) -> dict[str, Any]:
    """Samples per second, seconds of a step and hours of the stated run.

    Args:
        job: what is trained.
        rate: FLOPs per second of one GPU, for each row.
        flops: of one forward pass.
        split: the plans.
        learning: the weights that ranks exchange.
        pick: the slow, middle or fast end of the constants.
        bus: bytes per second that come over the bus of the GPU of each row, for what waits in the memory of the host.
        starting: seconds in which the kernels of a micro-batch start one by one: none is shorter, however small its
            samples.
        passing: seconds in which what is kept for the gradients passes through memory, beside the products.
    """
    rows = split.rows
    # Forward, two backward products; recomputation does the forward again.
    passes = (4.0 if job.checkpointing == "full" else 3.0) * (2 / 3 if job.peft else 1.0)
    micro = with_starts(rows.batch * flops * passes / rate + passing, starting)
    at_once = rows.batch * rows.count
    accumulation_stated = job.gradient_accumulation or 1
    if job.global_batch and not job.gradient_accumulation:
        accumulation_stated = np.maximum(1, np.rint(job.global_batch / at_once))
    accumulation = between_exchanges(
        job, rows, rows.count, accumulation_stated, usual_samples(job.kind, job.family).at(pick)
    )
    step = micro * accumulation
    step = step + unhidden_s(step, data_exchange_s(job, learning, split, accumulation), split, pick)
    step = step + offloaded_s(job, learning, split, accumulation, step, bus, pick)
    samples_per_s = at_once * accumulation / step
    batch = job.samples_of_a_step(at_once)
    values = {"samples_per_s": samples_per_s, "step_s": batch / samples_per_s}
    if job.train_steps:
        values["hours"] = batch * job.train_steps / samples_per_s / 3600
    elif job.train_samples:
        values["hours"] = job.train_samples / samples_per_s / 3600
    return values


def _diffusion_values(
    job: Job, table: GpuTable, which: Ints, split: Split, demand: Demand, pick: Pick
) -> dict[str, Any]:
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
        learning = learning_of(job, denoiser.layers, denoiser.adapted)._replace(params=denoiser.params)
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
    beside = beside_steps(job, table, which, passes, _pixels_of(job), frames, pick)
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


class Denoiser(NamedTuple):
    """What one evaluation of a denoiser asks of any GPU."""

    products: float  # FLOPs with weights
    attention: float  # FLOPs of scores and values
    kept: float  # bytes between the products, each of which passes through memory several times
    layers: float
    adapted: float  # matrices of attention, to which adapters are fitted
    params: float
    exchanged: float  # bytes that tensor ranks sum twice a layer


def _evaluation_s(job: Job, denoiser: Denoiser, table: GpuTable, pick: Pick) -> Any:
    """Seconds of one evaluation on each GPU; NaN where a rate that it needs is unknown.

    Large products at the achievable rate, attention in 16 bits, and passes over memory between them.
    """
    diffusion = speed_constants().diffusion
    precisions = training_precisions(job) if job.training else serving_precisions(job.weight_precision)
    sixteen = tuple(name for name in precisions if name not in _NARROW)
    # Quantised for diffusers, weights are unpacked to 16 bits before each product.
    unpacked = job.engine_stated and job.engine == "diffusers"
    wide = table.peaks(sixteen)
    peaks = wide if unpacked else table.peaks(precisions)
    scores = denoiser.attention / (wide.flops * wide.share * diffusion.attention_share.at(pick))
    passing = diffusion.memory_passes.at(TURNED[pick]) * denoiser.kept / table.bandwidth_in_reach(pick)
    return denoiser.products / (peaks.flops * peaks.share) + scores + passing


def forward_flops(job: Job) -> float | None:
    """FLOPs of one forward pass of one image or sample; None without a size."""
    model = job.model
    vision = speed_constants().vision
    detects = model is not None and model.kind == "detection"
    usual = vision.reference_px_detection.value if detects else vision.reference_px.value
    native = (model.resolution_px if model else None) or usual
    px = job.image_px or native
    if model is not None and model.gmacs_per_image:
        # Of detectors the long edge is stated, and their arithmetic is counted for a square.
        found = composed_network(model.name)
        oblong = found is not None and not found.dense and job.image_px > native
        shape = sizing_constants().vision.detection_aspect.value if oblong else 1.0
        pixels = job.pixels(shape) if job.image_px else shape * native**2
        return 2e9 * model.gmacs_per_image * pixels / native**2
    if job.params_b is None:
        return None
    return 2e9 * job.params_b * vision.macs_per_param.value * (px / vision.reference_px.value) ** 2


def _denoiser_of(job: Job) -> Denoiser | None:
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
    return Denoiser(products, attention, kept, layers, adapted, params, tokens * width * _SIXTEEN_BITS)


def _pixels_of(job: Job) -> Any:
    """Pixels of a picture or a frame."""
    video = job.family == "diffusion_video"
    return job.pixels(speed_constants().diffusion.video_width_share.value if video else 1.0)


def _passing_s(job: Job, table: GpuTable, pick: Pick) -> Any:
    """Seconds in which the maps of one picture pass memory: how often depends on what runs the network."""
    passes = speed_constants().vision.map_passes
    if job.compiled:
        counted = passes.compiled
    elif job.engine_stated and job.engine in _PASSES:
        counted = getattr(passes, _PASSES[job.engine])
    else:
        counted = passes.unstated
    size = max(1.0, sizing_constants().weights[job.weight_precision].body)
    return counted.at(TURNED[pick]) * feature_maps(job).elements * size / table.bandwidth_in_reach(pick)


def _kept_passing_s(job: Job, table: GpuTable, which: Ints, rows: Rows, pick: Pick) -> Any:
    """Seconds in which what a micro-batch keeps passes through memory, as often as in language models.

    Convolutions, norms and activations read and write maps: on cards whose products are fast that is most of the time.
    Whether maps are kept or recomputed, they pass through memory; recomputed, as often as a forward pass more.
    """
    passes = speed_constants().training.memory_passes.at(TURNED[pick])
    passes *= 4.0 / 3.0 if job.checkpointing == "full" else 1.0
    kept = kept_for_gradients_gb(replace(job, checkpointing="none"), rows.batch) * 1e9
    return np.nan_to_num(passes * kept / table.bandwidth_in_reach(pick)[which])


def _rate(job: Job, table: GpuTable, pick: Pick) -> Any:
    """FLOPs per second that each GPU does of this network; NaN where a rate that it needs is unknown."""
    vision = speed_constants().vision
    if not job.training:
        peaks = table.peaks(serving_precisions(job.weight_precision))
        share = 1.0
        if not is_of_tokens(job):
            narrow = job.weight_precision in _NARROW
            share = (vision.conv_share_narrow if narrow else vision.conv_share).at(pick)
        return peaks.flops * peaks.share * share
    peaks = table.peaks(training_precisions(job))
    # What passes through memory is counted apart, so that products reach what they do in other trainings.
    use = np.where(peaks.of_fp32, vision.conv_training_use_fp32.at(pick), product_use(table, slice(None), peaks, pick))
    return peaks.flops * use
