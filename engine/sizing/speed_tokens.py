"""Speed of vision networks of tokens of one width (ViT and the like): large products, and what passes memory."""

from __future__ import annotations

import re
from typing import Any

from whichgpu.engine.core import Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.network_maps import feature_maps


#: By the ids of models; Swin attends within windows that it cuts anew, and is none of them, nor are the like that
#: convolve.
_OF_TOKENS = re.compile(r"(?!.*(convnext|resnet|[-_]rn\d))(vit|deit|beit|dino|clip|siglip|eva)")
#: Bytes that operators between the products of a layer read and write for each token and channel, 16 bits each: two
#: norms (8), attention from query, key and value (8), two sums (12), the activation at four times the width (16).
_BETWEEN = 44.0


def attends(job: Job) -> bool:
    """Whether all that the network computes are large products over tokens."""
    return job.model is not None and bool(_OF_TOKENS.match(job.model.id))


def between_s(job: Job, table: GpuTable, pick: Pick) -> Any:
    """Seconds in which what lies between the products of one picture passes the memory of each GPU.

    Every parameter serves each token once, so that multiply-adds over parameters count the tokens.
    """
    maps = feature_maps(job)
    params = job.params_b or 0.0
    tokens = maps.gmacs / params * job.pixels() / maps.native_px**2 if params else 0.0
    # A layer of width h has 12 h^2 parameters, so that h times the layers is a twelfth of all over h.
    each = params * 1e9 / 12.0
    width = max(1.0, each * sizing_constants().vision.attended_ratio.value) ** (1.0 / 3.0)
    size = max(1.0, sizing_constants().weights[job.weight_precision].body) / 2.0
    return _BETWEEN * size * tokens * each / width / table.bandwidth_in_reach(pick)
