"""Speed of image networks and others that are no language models, by their multiply-adds."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.composed import composed_network
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.network_maps import feature_maps, kept_for_gradients_gb
from whichgpu.engine.sizing.network_training import trained_weights_of, training_run
from whichgpu.engine.sizing.rows import Ints, Rows
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.speed_peaks import NARROW, serving_precisions, training_precisions
from whichgpu.engine.sizing.speed_tokens import elementwise_s, is_of_tokens
from whichgpu.engine.sizing.training_time import product_use


#: How maps pass memory, by the software that is stated; see ``map_passes`` in ``knowledge/speed.yaml``.
_PASSES = {"transformers": "eager", "tensorrt-llm": "engine"}


def image_values(
    job: Job, table: GpuTable, which: Ints, split: Split, demand: Demand, pick: Pick = "value"
) -> dict[str, Any]:
    """Figures of a vision or other network over all GPUs of each row.

    Empty where the size is unknown, NaN where the GPU's rates are.
    """
    rows = split.rows
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
        values = training_run(job, rate, flops, split, trained_weights_of(job), pick, bus, starting, passing)
        return {"samples_per_s": values["samples_per_s"], "images_per_s": values["samples_per_s"], **values}
    each = flops / rate + (elementwise_s if is_of_tokens(job) else _passing_s)(job, table, pick)[which]
    # Pictures pass one by one: those of a batch take as long together. Each goes to a replica that is free.
    outside = speed_constants().serving.batch_overhead_ms.at(TURNED[pick]) / 1e3
    server = BatchServer(lambda batch: batch * each, 1.0, outside, rows.count)
    values = batch_values(server, rows.count, rows.batch, demand)
    if demand.stream_per_s:
        values["max_streams"] = values["qps"] / demand.stream_per_s
    return {"images_per_s": values["samples_per_s"], **values}


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
            narrow = job.weight_precision in NARROW
            share = (vision.conv_share_narrow if narrow else vision.conv_share).at(pick)
        return peaks.flops * peaks.share * share
    peaks = table.peaks(training_precisions(job))
    # What passes through memory is counted apart, so that products reach what they do in other trainings.
    use = np.where(peaks.of_fp32, vision.conv_training_use_fp32.at(pick), product_use(table, slice(None), peaks, pick))
    return peaks.flops * use
