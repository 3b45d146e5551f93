"""Speed of speech recognition: windows of sound pass an encoder, a few tokens of text come out of a decoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.network_training import trained_weights_of, training_run
from whichgpu.engine.sizing.recognisers import FASTER_WHISPER, WHISPER, Recogniser, recogniser_of
from whichgpu.engine.sizing.rows import Ints
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.speed_peaks import serving_precisions, training_precisions
from whichgpu.engine.sizing.speed_rates import engine_steps


_REFILLING = frozenset(("vllm", "tensorrt-llm", "sglang"))


def speech_values(
    job: Job, table: GpuTable, which: Ints, split: Split, demand: Demand, pick: Pick = "value"
) -> dict[str, Any]:
    """Windows and tokens per second over all GPUs of each row; empty where the size is unknown, NaN where rates are.

    The encoder is arithmetic: 2 FLOPs for each of its parameters and positions. Each token of the text reads the
    decoder, once for all windows of a batch, and the keys and values of every window's sound: most of what is read.
    How long kernels take to start is the engine's: a server of language models captures a step of the decoder as a
    graph, where a program that starts kernels one by one takes longer for that than for the reading. What of a window
    is neither (sound to frames, gaps between batches) lengthens the arithmetic and the reading alone: times of kernels
    were measured with it.

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
    params, dimensions = job.params_b * 1e9, recogniser_of(job, job.params_b)
    peaks = table.peaks(training_precisions(job) if job.training else serving_precisions(job.weight_precision))
    reached = (peaks.flops * peaks.share)[which]
    positions = speech.window_positions.value
    if job.training:
        flops = params * (positions + speech.window_tokens.value)
        learning = trained_weights_of(job, dimensions.encoder_layers + dimensions.decoder_layers)
        bus = table.host_bandwidth(pick)[which]
        return training_run(job, reached * speech.training_share.at(pick), flops, split, learning, pick, bus)
    window = _Window(job, dimensions, reached, table.bandwidth_in_reach(pick)[which], pick)
    # The program of Whisper's authors reads one window after the other.
    most = {WHISPER: 1.0, FASTER_WHISPER: speech.faster_whisper_batch.value}.get(job.engine, speech.full_batch.value)
    values = batch_values(BatchServer(window.seconds, most), rows.count, rows.batch, demand)
    tokens = speech.window_tokens.value if dimensions.decoder_layers else 0.0
    return values | ({"tokens_per_s": values["samples_per_s"] * tokens} if tokens else {})


class _Window:
    """How long windows of sound take on each row's GPU."""

    def __init__(self, job: Job, dimensions: Recogniser, flops_per_s: Any, bytes_per_s: Any, pick: Pick) -> None:
        speech, serving = speed_constants().speech, speed_constants().serving
        width, layers, positions = dimensions.width, dimensions.encoder_layers, speech.window_positions.value
        flops = positions * (2.0 * dimensions.encoder_params + 4.0 * layers * width * positions)
        share = speech.share.at(pick)
        self._encoding = flops / (flops_per_s * serving.prefill_share.at(pick) * share)
        per = sizing_constants().weights[job.weight_precision].body
        self._weights = dimensions.decoder_params * per / (bytes_per_s * share)
        self._heard = 2.0 * positions * dimensions.heard_numbers / (bytes_per_s * share)  # 16 bits each.
        # A step is never shorter than the start of its kernels.
        steps = engine_steps(job)
        slower = {"value": 1.0, "low": steps.high, "high": steps.low}[pick]
        microseconds = dimensions.decoder_layers * steps.launch_floor_us + steps.per_step_us
        self._starting = microseconds * 1e-6 * slower if dimensions.decoder_layers else 0.0
        self._tokens = speech.window_tokens.value
        # Servers of language models put a new window into the place of one that has ended.
        self._spread = 0.0 if job.engine in _REFILLING else speech.tokens_spread.at(TURNED[pick])
        # Of a long recording each window advances by what does not overlap with its neighbours.
        self._advance = speech.chunk_advance.at(pick) if job.engine == "transformers" else 1.0

    def seconds(self, batch: Any) -> Any:
        """Of so many windows together, 1 or more, for the sound of as many that do not overlap.

        All wait for the longest text: of n that lie evenly between the ends of a range it lies (n - 1) / (n + 1) of the
        way from its middle to its end in the mean.
        """
        step = np.maximum(self._weights + batch * self._heard, self._starting)
        longest = self._tokens * (1.0 + self._spread * (batch - 1.0) / (batch + 1.0))
        return (batch * self._encoding + longest * step) / self._advance
