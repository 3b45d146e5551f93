"""Speed of speech recognition: windows of sound pass an encoder, a few tokens of text come out of a decoder."""

from __future__ import annotations

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_peaks import peak_of
from whichgpu.engine.sizing.speed_peaks import serving_precisions
from whichgpu.engine.sizing.speed_peaks import training_precisions


def speech_values(job: Job, gpu: Gpu, count: int, pick: Pick = "value") -> dict[str, float]:
    """Windows and tokens per second over ``count`` GPUs; empty where the size or the GPU's rates are unknown.

    Half of the parameters see each position of the window, the other half each token of the text: 2 FLOPs each.
    """
    speech = speed_constants().speech
    peak = peak_of(gpu, training_precisions(job) if job.training else serving_precisions(job.weight_precision))
    if peak is None or job.params_b is None:
        return {}
    flops = job.params_b * 1e9 * (speech.window_positions.value + speech.window_tokens.value)
    if job.training:
        rate = peak.flops * peak.share * speech.training_share.at(pick) * count
        samples_per_s = rate / (flops * (4.0 if job.checkpointing == "full" else 3.0) * (2 / 3 if job.peft else 1.0))
        batch = job.micro_batch * count * (job.gradient_accumulation or 1)
        values = {"samples_per_s": samples_per_s, "step_s": batch / samples_per_s}
        if job.train_steps:
            values["hours"] = (job.global_batch or batch) * job.train_steps / samples_per_s / 3600
        return values
    samples_per_s = peak.flops * peak.share * speech.share.at(pick) * count / flops
    limit = speed_constants().serving.load_limit.value
    return {
        "samples_per_s": samples_per_s,
        "tokens_per_s": samples_per_s * speech.window_tokens.value,
        "qps": limit * samples_per_s,
    }
