"""Speed of networks that are no language models: image networks by their multiply-adds, diffusion by its steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats, Ints, Rows
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_peaks import serving_precisions, training_precisions


def image_values(job: Job, table: GpuTable, which: Ints, rows: Rows, pick: Pick = "value") -> dict[str, Any]:
    """Figures of a vision, diffusion or other network over all GPUs of each row.

    Empty where the size is unknown, NaN where the GPU's rates are.
    """
    flops = forward_flops(job)
    if flops is None:
        return {}
    rate = _rate(job, table, pick)[which]
    if job.training:
        values = training_run(job, rate, flops, rows)
        return {"samples_per_s": values["samples_per_s"], "images_per_s": values["samples_per_s"], **values}
    if job.family.startswith("diffusion"):
        return _generation(job, flops, rate, rows.count, pick)
    per_s = rate * rows.count / flops
    return {"images_per_s": per_s, "samples_per_s": per_s, "qps": 0.9 * per_s, "latency_ms": flops / rate * 1e3}


def training_run(job: Job, rate: Floats, flops: float, rows: Rows) -> dict[str, Any]:
    """Samples per second, seconds of a step and hours of the stated run.

    Args:
        job: what is trained.
        rate: FLOPs per second of one GPU, for each row.
        flops: of one forward pass.
        rows: the plans.
    """
    # Forward, two backward products; recomputation does the forward again.
    per_sample = flops * (4.0 if job.checkpointing == "full" else 3.0) * (2 / 3 if job.peft else 1.0)
    samples_per_s = rate * rows.count / per_sample
    batch = rows.batch * rows.count * (job.gradient_accumulation or 1)
    values = {"samples_per_s": samples_per_s, "step_s": batch / samples_per_s}
    if job.train_steps:
        values["hours"] = (job.global_batch or batch) * job.train_steps / samples_per_s / 3600
    return values


def _generation(job: Job, flops: float, rate: Floats, count: Ints, pick: Pick) -> dict[str, Any]:
    diffusion = speed_constants().diffusion
    step = flops * diffusion.guidance_passes.value / rate
    latency = step * diffusion.steps.at(TURNED[pick])
    per_s = count / latency
    values = {"latency_ms": latency * 1e3, "steps_per_s": count / step, "samples_per_s": per_s, "qps": 0.9 * per_s}
    if job.family == "diffusion_image":
        values["images_per_s"] = per_s
    return values


def forward_flops(job: Job) -> float | None:
    """FLOPs of one forward pass of one image, clip or sample; None without a size."""
    model = job.model
    if job.family.startswith("diffusion"):
        return _denoising_flops(job)
    vision = speed_constants().vision
    detects = model is not None and model.kind == "detection"
    usual = vision.reference_px_detection.value if detects else vision.reference_px.value
    native = (model.resolution_px if model else None) or usual
    px = job.image_px or native
    if model is not None and model.gmacs_per_image:
        return 2e9 * model.gmacs_per_image * (px / native) ** 2
    if job.params_b is None:
        return None
    return 2e9 * job.params_b * vision.macs_per_param.value * (px / vision.reference_px.value) ** 2


def _denoising_flops(job: Job) -> float | None:
    """One evaluation of the denoiser: published, scaled by the pixels, else 2 N for each token of the latent."""
    model, diffusion = job.model, speed_constants().diffusion
    native = (model.resolution_px if model else None) or 1024
    if model is not None and model.gflops_per_step:
        return 1e9 * model.gflops_per_step * (job.image_px / native) ** 2
    parts = model.components_b if model else {}
    params = next((parts[name] for name in ("transformer", "unet", "denoiser") if name in parts), job.params_b)
    if params is None:
        return None
    tokens = (job.image_px / diffusion.px_per_token.value) ** 2
    if job.family == "diffusion_video":
        tokens *= diffusion.video_width_share.value * (1 + (job.frames - 1) / diffusion.frames_per_token.value)
    if "unet" in parts:
        tokens /= 4  # Most of a UNet works on maps of half the size and below.
    # Attention over all tokens: 4 L w T^2 with N = 12 L w^2 is N T^2 / (3 w); half of it, as kernels beat that count.
    width = float((params * 1e9 * 128 / 12) ** (1 / 3))
    return float(params * 1e9 * tokens * (2.0 + tokens / (3 * width) * (0.0 if "unet" in parts else 0.5)))


def _rate(job: Job, table: GpuTable, pick: Pick) -> Any:
    """FLOPs per second that each GPU does of this network; NaN where a rate that it needs is unknown."""
    constants = speed_constants()
    peaks = table.peaks(training_precisions(job) if job.training else serving_precisions(job.weight_precision))
    if job.family.startswith("diffusion"):
        # Large products at the achievable rate, and between them passes over memory.
        over_memory = constants.diffusion.flops_per_byte.at(pick) * table.bandwidth_in_reach(pick)
        return 1.0 / (1.0 / (peaks.flops * peaks.share) + 1.0 / over_memory)
    vision = constants.vision
    use = (vision.conv_training_use if job.training else vision.conv_inference_use).at(pick)
    reached = np.where(peaks.of_fp32, vision.conv_training_use_fp32.at(pick), use)
    return peaks.flops * reached * np.minimum(1.0, peaks.share / constants.matmul_share["default"].value)
