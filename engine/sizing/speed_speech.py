"""Speed of speech recognition: windows of sound pass an encoder, a few tokens of text come out of a decoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.intake_serving import WHISPER
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Ints
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_images import learning_of, training_run
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.speed_peaks import serving_precisions, training_precisions
from whichgpu.engine.sizing.speed_serving import engine_steps


def speech_values(
    job: Job, table: GpuTable, which: Ints, split: Split, demand: Demand, pick: Pick = "value"
) -> dict[str, Any]:
    """Windows and tokens per second over all GPUs of each row; empty where the size is unknown, NaN where rates are.

    The encoder is arithmetic: 2 FLOPs for each of its parameters and positions. Each token of the text reads the
    decoder, once for all windows of a batch, and the keys and values of every window's sound: most of what is read.
    How long kernels take to start is the engine's: a server of language models captures a step of the decoder as a
    graph, where a program that starts kernels one by one takes longer for that than for the reading.

    Args:
        job: what is recognised, or trained.
        table: the GPUs.
        which: the GPU of each row, by its position in the table.
        split: the plans; the ``batch`` of a row is the windows in flight over all its GPUs.
        demand: what is asked; a request is one window.
        pick: the slow, middle or fast end of the constants.
    """
    rows, speech = split.rows, speed_constants().speech
    if job.params_b is None:
        return {}
    params = job.params_b * 1e9
    peaks = table.peaks(training_precisions(job) if job.training else serving_precisions(job.weight_precision))
    reached = (peaks.flops * peaks.share)[which]
    if job.training:
        flops = params * (speech.window_positions.value + speech.window_tokens.value)
        learning = learning_of(job, 2.0 * _dimensions(params)[1])
        bus = table.host_bandwidth(pick)[which]
        return training_run(job, reached * speech.training_share.at(pick), flops, split, learning, pick, bus)
    serving = speed_constants().serving
    width, layers = _dimensions(params)
    positions = speech.window_positions.value
    encoder = 2.0 * params * speech.encoder_part.value * positions + 4.0 * layers * width * positions**2
    encoding = encoder / (reached * serving.prefill_share.at(pick))
    weights = params * (1.0 - speech.encoder_part.value) * sizing_constants().weights[job.weight_precision].body
    heard = 4.0 * layers * width * positions  # Bytes of keys and values, 16 bits each.
    bandwidth = table.bandwidth_in_reach(pick)[which]
    # A step is never shorter than the start of its kernels.
    steps = engine_steps(job)
    slower = {"value": 1.0, "low": steps.high, "high": steps.low}[pick]
    starting = layers * steps.launch_floor_us * 1e-6 * slower

    def recognising(batch: Any) -> Any:
        reading = (weights + batch * heard) / bandwidth
        return (batch * encoding + speech.window_tokens.value * np.maximum(reading, starting)) / speech.share.at(pick)

    # The program of Whisper's authors reads one window after the other.
    most = 1.0 if job.engine == WHISPER else speech.full_batch.value
    server = BatchServer(recognising, most)
    values = batch_values(server, rows.count, rows.batch, demand)
    return values | {"tokens_per_s": values["samples_per_s"] * speech.window_tokens.value}


def _dimensions(params: float) -> tuple[float, float]:
    """Width and layers of a recogniser: an encoder layer has 12 h^2 parameters, a decoder layer 16 h^2."""
    ratio = sizing_constants().other.speech_ratio.value
    width = (params * ratio / 28.0) ** (1.0 / 3.0)
    return width, width / ratio
