"""Time in which the kernels of a training step start one by one: no step is shorter, however small its batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import TURNED, Pick, as_number
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.speed_constants import speed_constants


def starting_s(job: Job, layers: float, matrices: float, pick: Pick) -> float:
    """Seconds that a micro-batch takes at least to start its kernels, of so many layers and adapted matrices.

    0 where a compiler or a captured graph starts them together.
    """
    if job.compiled:
        return 0.0
    known = speed_constants().training.kernels
    forward = 2.0 if job.checkpointing == "full" else 1.0
    started = layers * (known.layer * forward + known.layer_back)
    started += matrices * (known.adapter * forward + known.adapter_back)
    return as_number(started * known.start_us.at(TURNED[pick]) * 1e-6)


def with_starts(computing: Any, starting: Any) -> Any:
    """Seconds that a step takes whose kernels compute so long, and start so long, in all.

    The host runs ahead while long kernels compute, and the GPU waits where short ones follow each other: a step has
    both, so that the shorter time is hidden but for a part of it, the larger the nearer the two are (the root of their
    squares: 1.4 times where they are equal, 1.02 where one is five times the other).
    """
    return np.sqrt(computing**2.0 + starting**2.0)
