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
        most = np.minimum(most, _share_of_a_step(job, layouts, job.global_batch) if counted else job.global_batch)
    elif (bounded := _most_samples_of_a_step(job)) is not None:
        most = np.minimum(most, _share_of_a_step(job, layouts, bounded))
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


def ranks_beyond_a_step(job: Job, layouts: Layouts) -> Floats:
    """How many times as many ranks each layout has as a step has samples for; at least 1.

    A step has as many samples as are stated; of pre-training, where none are, as many as are usual at most.
    """
    if job.global_batch:
        share = job.global_batch * job.context_parallel / layouts.data
        return np.ones(len(layouts.data)) if job.step_assumed else np.maximum(1.0, 1.0 / share)
    most = _most_samples_of_a_step(job)
    return np.ones(len(layouts.data)) if most is None else np.maximum(1.0, 1.0 / _share_of_a_step(job, layouts, most))


def _most_samples_of_a_step(job: Job) -> float | None:
    """Samples of a step of pre-training at most where they are not stated; None of other jobs."""
    if job.kind != "pretraining" or job.shape is None:
        return None
    return float(plan_constants().tokens_per_step.value / job.seq_len_tokens)


def _share_of_a_step(job: Job, layouts: Layouts, samples: float) -> Floats:
    """Samples of a step that a rank takes at once at most: its share, several pieces of it in a pipeline."""
    ranks = layouts.data / job.context_parallel
    pieces = np.where(layouts.pipeline > 1, BATCHES_OF_A_STAGE * layouts.pipeline, 1)
    found: Floats = samples / (ranks * np.maximum(job.gradient_accumulation or 1, pieces))
    return found
