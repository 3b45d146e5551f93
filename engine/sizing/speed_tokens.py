"""Speed of vision networks of tokens of one width (ViT and the like): large products, and what passes memory."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.network_maps import tokens_and_width


#: Bytes that operators between the products of a layer read and write for each token and channel, 16 bits each: two
#: norms (8), attention from query, key and value (8), two sums (12), the activation at four times the width (16).
_BETWEEN = 44.0


def is_of_tokens(job: Job) -> bool:
    """Whether all that the network computes are large products over tokens."""
    return job.model is not None and sizing_constants().vision.names.found("of_one_width", job.model.id) is not None


def elementwise_s(job: Job, table: GpuTable, pick: Pick) -> Any:
    """Seconds per image of element-wise work between matrix products, which is bound by memory bandwidth."""
    tokens, width, layers = tokens_and_width(job, job.params_b) if job.params_b else (0.0, 0.0, 0.0)
    size = max(1.0, sizing_constants().weights[job.weight_precision].body) / 2.0
    return _BETWEEN * size * tokens * layers * width / table.bandwidth_in_reach(pick)
