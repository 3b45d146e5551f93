"""What a training step keeps per trained parameter: weights, gradients, optimiser state, and how they are sharded."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.versions import older


class StateBytes(Struct, frozen=True):
    """Bytes per trained parameter."""

    weights: float
    gradients: float
    optimizer: float  # moments and the 32-bit master copy
    embedding_extra: float  # moments of an 8-bit optimiser stay in 32 bits on embeddings


def state_bytes(job: Job) -> StateBytes:
    """Bytes per trained parameter under the job's recipe and optimiser.

    Mixed precision takes 16 B with Adam: 2 + 2 + 4 + 8 as in the ZeRO paper, or 4 + 4 + 8 as Hugging Face's autocast
    keeps it; both agree with the measured mixed run (1B, 25.2 GB). Megatron keeps 32-bit main gradients: 18 B.
    """
    training = sizing_constants().training
    recipe = training.recipes[job.recipe]
    optimizer = training.optimizers[job.optimizer]
    defaults = training.frameworks.get(job.framework or "")
    moments = optimizer.moments
    if job.recipe == "pure" and optimizer.halves:
        moments /= 2.0
    gradients = recipe.gradients
    if defaults is not None and defaults.gradient_bytes and job.recipe == "mixed":
        gradients = defaults.gradient_bytes
    if defaults is not None and defaults.gradient_bytes_bf16 and accumulates_wide(job):
        gradients = defaults.gradient_bytes_bf16
    extra = 0.0
    if job.optimizer.endswith("8bit"):
        extra = max(0.0, (4.0 if job.recipe == "pure" else 8.0) - moments)
    return StateBytes(recipe.weights, gradients, moments + recipe.master, extra)


def accumulates_wide(job: Job) -> bool:
    """Whether gradients of bf16 add up in one flat tensor of 32 bits, which is stepped as it is."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    wide = defaults is not None and defaults.gradient_bytes_bf16 is not None
    return wide and job.recipe == "mixed" and job.compute_precision == "bf16"


def shards(rows: Rows) -> tuple[Any, Any, Any]:
    """Over how many GPUs weights, gradients and optimiser state are spread."""
    data = rows.data
    weights = np.where(rows.sharded("zero3", "fsdp"), data, 1)
    gradients = np.where(rows.sharded("zero2", "zero3", "fsdp"), data, 1)
    return weights, gradients, np.where(rows.sharded("none"), 1, data)


def splits_models(job: Job) -> bool:
    """Whether the framework splits a model over GPUs in the manner of Megatron, and never shards its weights."""
    defaults = sizing_constants().training.frameworks.get(job.framework or "")
    return defaults is not None and not defaults.shards_weights


def drops_gradients(job: Job) -> bool:
    """Whether no gradients are there while the loss of a step is taken.

    Over several micro-batches they add up. PyTorch before 2.0 sets them to zero between steps, and so keeps them;
    engines of their own let go of them.
    """
    training = sizing_constants().training
    defaults = training.frameworks.get(job.framework or "")
    if job.optimizer_in_backward or (defaults is not None and defaults.releases_gradients):
        return True
    own = (job.sharding or "").startswith("zero") or job.framework == "deepspeed" or splits_models(job)
    zeroed = older(job.pytorch_version, training.step_by_release.sets_to_none_since) and not own
    return job.gradient_accumulation == 1 and not zeroed


#: Ways to shard whose offload takes the optimizer's state alone to the host.
WEIGHTS_STAY = ("zero1", "zero2")


def weights_stay(job: Job, rows: Rows) -> Any:
    """Where offload takes optimizer state alone to the host: below ZeRO's third stage, and as Megatron does.

    What does not learn has no such state, so that a frozen base and a reference stay too (DeepSpeed
    runtime/zero/stage_1_and_2.py moves partitions of the optimizer; offload_param is of the third stage). The third
    stage too can leave weights where they are.
    """
    return rows.sharded(*WEIGHTS_STAY) | splits_models(job) | job.weights_not_offloaded


def gradients_stay(job: Job, rows: Rows) -> Any:
    """Where gradients stay with weights under offload: not in the third stage, whose flat buffer lies on the host.

    DeepSpeed runtime/zero/stage3.py makes grad_partitions_flat_buffer on the device of the optimizer.
    """
    return weights_stay(job, rows) & ~rows.sharded("zero3")


def allocator_share(rows: Rows) -> Any:
    """What the caching allocator holds beyond the tensors, as a share of them."""
    allocator = sizing_constants().allocator
    split = np.where(rows.sharded("zero3", "fsdp"), allocator.sharded, allocator.data_parallel)
    return np.where(rows.count <= 1, allocator.one_gpu, split)
