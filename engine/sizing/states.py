"""What a training step keeps per trained parameter: weights, gradients, optimiser state, and how they are sharded."""

from __future__ import annotations

from dataclasses import dataclass

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job


@dataclass(frozen=True, slots=True)
class StateBytes:
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
    habits = training.frameworks.get(job.framework or "")
    moments = optimizer.moments
    if job.recipe == "pure" and optimizer.halves:
        moments /= 2.0
    gradients = recipe.gradients
    if habits is not None and habits.gradient_bytes and job.recipe == "mixed":
        gradients = habits.gradient_bytes
    extra = 0.0
    if job.optimizer.endswith("8bit"):
        extra = max(0.0, (4.0 if job.recipe == "pure" else 8.0) - moments)
    return StateBytes(recipe.weights, gradients, moments + recipe.master, extra)


def shards(sharding: str, data: int) -> tuple[int, int, int]:
    """Over how many GPUs weights, gradients and optimiser state are spread."""
    if sharding in {"zero3", "fsdp"}:
        return data, data, data
    if sharding == "zero2":
        return 1, data, data
    if sharding == "zero1":
        return 1, 1, data
    return 1, 1, 1


def allocator_share(count: int, sharding: str) -> float:
    """What the caching allocator holds beyond the tensors, as a share of them."""
    allocator = sizing_constants().allocator
    if count <= 1:
        return allocator.one_gpu
    return allocator.sharded if sharding in {"zero3", "fsdp"} else allocator.data_parallel
