"""How many samples a rank takes at once in training where nobody states it: as many as fit, up to a bound."""

from __future__ import annotations

import math

import numpy as np

from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.layouts import Layouts
from whichgpu.engine.sizing import BATCHES_OF_A_STAGE, Floats, Ints, Job, batch_of


def micro_batches(job: Job, max_batch: Floats, layouts: Layouts) -> Ints:
    """The micro-batch of each plan, a power of two; that of the job where it is not known how much fits.

    Args:
        job: what is trained.
        max_batch: samples that fit each plan at most; NaN where it is not known.
        layouts: of the plans.
    """
    most = np.minimum(np.where(max_batch > 0, max_batch, 1), _bound(job))
    if job.global_batch:  # What a run takes for all its steps is known by what each rank has of one.
        counted = job.train_steps and not job.train_tokens
        most = np.minimum(most, _share_of_a_step(job, layouts) if counted else job.global_batch)
    batch = 1 << (np.frexp(np.maximum(1, most))[1] - 1).astype(np.int64)  # The power of two up to it.
    return np.where(max_batch > 0, batch, batch_of(job))


def _bound(job: Job) -> int:
    """Samples beyond which a larger micro-batch brings no more: the nearest power of two.

    The power of two below would fall by half at the very lengths that people state.
    """
    constants = plan_constants()
    bound = 1.0 * constants.images_per_micro_batch.value
    if job.shape is not None:
        bound = constants.tokens_per_micro_batch.value / job.seq_len_tokens
    elif job.family == "vision" and job.pixels():  # Of small pictures more pass at a time.
        usual = bound * constants.usual_image_px.value**2
        bound = max(bound, min(constants.small_images_per_micro_batch.value, usual / job.pixels()))
    return 1 << max(0, round(math.log2(bound)))


def _share_of_a_step(job: Job, layouts: Layouts) -> Floats:
    """Samples of a step that a rank takes at once at most: its share, several pieces of it in a pipeline."""
    ranks = layouts.data / job.context_parallel
    pieces = np.where(layouts.pipeline > 1, BATCHES_OF_A_STAGE * layouts.pipeline, 1)
    found: Floats = (job.global_batch or 0) / (ranks * np.maximum(job.gradient_accumulation or 1, pieces))
    return found
