"""Time in which the kernels of a training step start one by one: no step is shorter, however small its batch."""

from __future__ import annotations

from whichgpu.engine.core import TURNED, Pick, as_number
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.speed_constants import speed_constants


def starting_s(job: Job, layers: float, matrices: float, pick: Pick) -> float:
    """Seconds that a micro-batch takes at least to start its kernels, of so many layers and adapted matrices.

    None where a compiler or a captured graph starts them together.
    """
    if job.compiled:
        return 0.0
    known = speed_constants().training.kernels
    forward = 2.0 if job.checkpointing == "full" else 1.0
    started = layers * (known.layer * forward + known.layer_back)
    started += matrices * (known.adapter * forward + known.adapter_back)
    return as_number(started * known.start_us.at(TURNED[pick]) * 1e-6)
