"""Speed of speech recognition: windows of sound pass an encoder, a few tokens of text come out of a decoder."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Ints, Rows
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_images import training_run
from whichgpu.engine.sizing.speed_peaks import serving_precisions, training_precisions


def speech_values(job: Job, table: GpuTable, which: Ints, rows: Rows, pick: Pick = "value") -> dict[str, Any]:
    """Windows and tokens per second over all GPUs of each row; empty where the size is unknown, NaN where rates are.

    Half of the parameters see each position of the window, the other half each token of the text: 2 FLOPs each.
    """
    speech = speed_constants().speech
    if job.params_b is None:
        return {}
    peaks = table.peaks(training_precisions(job) if job.training else serving_precisions(job.weight_precision))
    reached = (peaks.flops * peaks.share)[which]
    flops = job.params_b * 1e9 * (speech.window_positions.value + speech.window_tokens.value)
    if job.training:
        return training_run(job, reached * speech.training_share.at(pick), flops, rows)
    samples_per_s = reached * speech.share.at(pick) * rows.count / flops
    return {
        "samples_per_s": samples_per_s,
        "tokens_per_s": samples_per_s * speech.window_tokens.value,
        "qps": speed_constants().serving.load_limit.value * samples_per_s,
    }
