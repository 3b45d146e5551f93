"""Memory that plain data parallelism adds in PyTorch: gradient buckets of DDP, and weights cast by autocast."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.states import splits_models, state_bytes
from whichgpu.engine.sizing.training_terms import CAST_WEIGHTS, REPLICA_BUCKETS


def replica_buckets(job: Job, rows: Rows, params: Any) -> list[PartColumn]:
    """Buckets in which DistributedDataParallel sends gradients: a second copy of all of them, all the time.

    Megatron and DeepSpeed send them from buffers of their own, and a step inside the backward pass leaves none to send.
    """
    own = job.framework == "deepspeed" or splits_models(job)
    replicas = rows.sharded("none") & (rows.data > 1)
    if own or job.optimizer_in_backward or job.cpu_offload or not np.any(replicas):
        return []
    # Of 16 bits over weights in 32 gradients are in 32.
    each = 4.0 if job.recipe == "mixed" else state_bytes(job).gradients
    count = params / 1e9
    return [PartColumn(REPLICA_BUCKETS, np.where(replicas, count * each, 0.0), (count, each), replicas)]


def cast_weights(job: Job, rows: Rows, params: Any, at_work: Any) -> list[PartColumn]:
    """Weights that autocast has cast to 16 bits, which are there until the backward pass comes to them.

    Beside gradients they lie only where these wait for further micro-batches: else each gradient takes a cast's place.
    So it is where their number is not stated, as these frameworks take one by default. A pass that
    keeps nothing drops them at its end, before a layer is ``at_work`` again, in GB.
    """
    whole = rows.sharded("none")
    waits = (job.gradient_accumulation or 1) > 1 and not job.optimizer_in_backward
    if not job.autocasts or not waits or job.cpu_offload or not np.any(whole):
        return []
    count = params / 1e9
    cast = 2.0 * count
    if job.checkpointing == "full":
        cast = np.maximum(0.0, cast - at_work)
    return [PartColumn(CAST_WEIGHTS, np.where(whole, cast, 0.0), (count, job.checkpointing), whole)]
