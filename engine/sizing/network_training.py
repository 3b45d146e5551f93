"""Time of training a network that is no language model: passes over samples, and the exchange of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.host_traffic import offloaded_s
from whichgpu.engine.sizing.intake_steps import usual_samples
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats
from whichgpu.engine.sizing.speed_kernels import with_starts
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.training_exchange import TrainedWeights, between_exchanges, data_exchange_s, unhidden_s


#: Layers of a network of which no more is known than its size: those of ResNet-50.
_LAYERS = 50.0


def trained_weights_of(job: Job, layers: float = _LAYERS, adapted: float = 0.0) -> TrainedWeights:
    """``TrainedWeights`` of a network that is no language model, from its parameter count.

    Args:
        job: what is trained.
        layers: of the network.
        adapted: matrices of width x width to which adapters are fitted. Where not known, 9 a layer: attention's four,
            and two of the feed-forward part, which are four times as wide and count two and a half each.
    """
    params = 1e9 * (job.params_b or 0.0)
    width = (params / (12.0 * layers)) ** 0.5
    changed = job.lora_rank * (adapted or 9.0 * layers) * 2.0 * width if job.peft else params
    return TrainedWeights(params, changed, layers)


def training_run(
    job: Job,
    rate: Floats,
    flops: float,
    split: Split,
    learning: TrainedWeights,
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
