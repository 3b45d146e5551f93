"""What data ranks of a training exchange: gradients, and, where they are divided, the weights themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s


class TrainedWeights(NamedTuple):
    """Parameter counts of the network that is trained: all, those that change, and its layers."""

    params: float
    changed: float  # of them, or of adapters beside them: what has a gradient
    layers: float  # that are gathered one by one


def between_exchanges(job: Job, rows: Rows, ranks: Any, accumulation_stated: Any, usual_samples: float) -> Any:
    """Micro-batches between two exchanges of gradients where neither they nor the batch of a step are stated.

    Whoever exchanges over a slow link lets gradients add up to a batch as it is usual, by replicas as in a pipeline.

    Args:
        job: what is trained.
        rows: the plans.
        ranks: of each, that work on samples of their own.
        accumulation_stated: micro-batches of a step, as they are counted.
        usual_samples: of a step.
    """
    if job.gradient_accumulation or job.global_batch:
        return accumulation_stated
    return np.maximum(accumulation_stated, np.rint(usual_samples / (rows.batch * ranks)))


def data_exchange_s(job: Job, learning: TrainedWeights, split: Split, accumulation: Any) -> Any:
    """Gradients once a step, divided ones (ZeRO-2) each micro-batch; with sharded weights, those too, twice each."""
    rows, speed = split.rows, split.over_all
    ranks = rows.tensor * rows.pipeline
    time = all_reduce_s(2.0 * learning.changed / ranks, rows.data, speed)
    # Whose gradients are divided keeps none of the others', so that they are sent each micro-batch.
    time = time + np.where(rows.sharded("zero2"), (accumulation - 1) * time / 2.0, 0.0)
    body = sizing_constants().weights[job.weight_precision].body if job.peft else 2.0
    gathered = learning.params * body / ranks * (rows.data - 1) / rows.data
    gathering = 2 * accumulation * (speed.latency_s * learning.layers + gathered / (speed.gbs * 1e9))
    return time + np.where((rows.data > 1) & rows.sharded("zero3", "fsdp"), gathering, 0.0)


def unhidden_s(computing: Any, exchanging: Any, split: Split, pick: Pick) -> Any:
    """The part of the exchange that computation does not hide."""
    # Of the links inside of a node that of PCIe alone takes so long.
    on_the_bus, constants = (split.link.latency_s > 2e-5) & (split.node.latency_s == 0), speed_constants().training
    overlap = constants.overlap.at(pick) * np.where(on_the_bus, constants.overlap_share_on_the_bus.value, 1.0)
    return np.where(exchanging > 0, np.maximum(exchanging - computing, (1.0 - overlap) * exchanging), 0.0)
