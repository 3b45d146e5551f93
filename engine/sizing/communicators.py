"""What NCCL allocates on a GPU beside PyTorch's allocator: buffers of communicators, and of peers of an exchange."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.experts import expert_spread
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.serving_reserve import GIB
from whichgpu.engine.sizing.states import splits_models


def communicators(job: Job, rows: Rows) -> Any:
    """Communicators of a rank, for each row: one for each degree by which a job is split or copied.

    Process groups are communicators of their own, which come into being as they are used. Who splits models in the
    manner of Megatron has one more over all ranks of a model, by which gradients are clipped, and one of the ranks that
    share experts (megatron/core/parallel_state.py). Where no process groups are made all of it is one.
    """
    apart = rows.tensor * rows.pipeline > 1
    found = 1 * (rows.tensor > 1) + (rows.pipeline > 1) + (rows.data > 1)
    if splits_models(job):
        found = found + apart + (_expert_ranks(job, rows) > 1)
    return found if job.process_groups else np.minimum(found, 1)


def exchanging_peers(job: Job, rows: Rows) -> Any:
    """GPUs of its machine with which a rank exchanges tokens for experts, in the manner of Megatron."""
    if not splits_models(job) or job.shape is None or not job.shape.expert_params:
        return 0
    return np.minimum(_expert_ranks(job, rows) - 1, sizing_constants().collectives.peers)


def collectives_gb(groups: Any, peers: Any) -> Any:
    """Buffers of so many communicators, and of so many GPUs to which numbers are sent, in GB.

    Each pair of GPUs of a machine has buffers of its own on every channel; what comes over the network shares one.
    """
    collectives = sizing_constants().collectives
    return (groups * collectives.communicator_gib + peers * collectives.peer_gib) * GIB


def _expert_ranks(job: Job, rows: Rows) -> Any:
    """Ranks among which tokens travel to their experts; 1 where there are none, or all are split as layers are."""
    if job.shape is None or not job.shape.expert_params:
        return 1
    spread = expert_spread(job, job.shape, rows)
    return np.minimum(job.expert_parallel, spread) if job.expert_parallel else spread // rows.tensor
