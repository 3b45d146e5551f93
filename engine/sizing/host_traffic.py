"""What waits in the memory of the host and passes to the GPU as it is needed: how long that takes, for each plan.

Offload buys room with time. What is parked there comes over the bus as often as it is read: weights of a served model
with every step, those of a trained one forward and backward. The optimizer of an offloaded job steps on the processor,
as fast as the memory of the host reads and writes its state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Floats, Rows
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.states import shards, state_bytes, weights_stay
from whichgpu.engine.sizing.training_exchange import TrainedWeights, unhidden_s


#: Forward and backward; what is recomputed uses the weights that the backward pass fetched.
_PASSES = 2.0


def offloaded_s(
    job: Job, learning: TrainedWeights, split: Split, micro_batches: Any, computing: Any, bus: Floats, pick: Pick
) -> Any:
    """Seconds that offload adds to a step of training: none without offload.

    Args:
        job: what is trained.
        learning: its weights.
        split: the plans.
        micro_batches: of a step.
        computing: seconds of a step without offload.
        bus: bytes per second that come over the bus of the GPU of each row.
        pick: the slow, middle or fast end of the constants.
    """
    if not job.cpu_offload:
        return 0.0
    fetching = _fetched_s(job, split.rows, learning, micro_batches, bus)
    return unhidden_s(computing, fetching, split, pick) + _host_step_s(split, learning.changed, pick)


def _fetched_s(job: Job, rows: Rows, learning: TrainedWeights, micro_batches: Any, bus: Floats) -> Any:
    """Seconds of a step in which weights and gradients pass over the bus of each GPU."""
    over_weights, over_gradients, over_states = shards(rows)
    per = state_bytes(job)
    body = sizing_constants().weights[job.weight_precision].body if job.peft else per.weights
    streamed = _PASSES * learning.params * body / over_weights
    learnt = 0.0 if job.peft else learning.changed * per.gradients / over_gradients
    stay = weights_stay(job, rows)
    each = np.where(stay, 0.0, streamed + learnt)
    # What stays gets its new weights once a step, for which the gradients went the other way.
    once = np.where(stay, learning.changed * (per.gradients + 2.0) / over_states, 0.0)
    return (micro_batches * each + once) / (rows.tensor * rows.pipeline) / bus


def _host_step_s(split: Split, trained: float, pick: Pick) -> Any:
    """Seconds that the processors of a node take for a step of Adam on the parameters that learn on its GPUs."""
    rows, (_, _, over_states) = split.rows, shards(split.rows)
    on_node = trained / (rows.tensor * rows.pipeline * over_states) * split.per_node
    host = speed_constants().offload.host_memory_gbs.at(pick) * 1e9
    return on_node * speed_constants().training.optimizer_bytes.value / host
