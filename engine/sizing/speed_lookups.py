"""Speed of recommenders by their look-ups: vectors read from embedding tables, at the bandwidth of the memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Ints, Rows, ceiling
from whichgpu.engine.sizing.speed_constants import speed_constants


#: Bytes that memory gives at once; a shorter vector costs as much.
_SECTOR = 32.0


def lookup_values(
    job: Job, table: GpuTable, which: Ints, rows: Rows, demand: Demand, pick: Pick = "value"
) -> dict[str, Any]:
    """Samples per second of a recommender and their times, for each row; a rule of thumb.

    Tables are spread over the GPUs of a replica, each of which answers its part of every sample. The networks above the
    tables, and the exchange of what was looked up, are taken as part of the share of bandwidth.

    Args:
        job: a recommender whose look-ups are stated.
        table: the GPUs.
        which: the GPU of each row, by its position in the table.
        rows: the plans; the ``batch`` of a row is the samples in flight over all its replicas.
        demand: what is asked; a request is one sample.
        pick: the slow, middle or fast end of the constants.
    """
    constants = speed_constants().lookups
    vector = job.lookup_width * sizing_constants().weights[job.weight_precision].body
    read = job.lookups * ceiling(vector, _SECTOR) * _SECTOR
    bandwidth = table.bandwidth_in_reach(pick)[which] * rows.tensor * rows.pipeline * constants.share.at(pick)
    starting = constants.start_ms.at(TURNED[pick]) / 1e3
    most = np.maximum(1.0, constants.full_batch.value)
    server = BatchServer(lambda batch: starting + batch * read / bandwidth, most)
    return batch_values(server, rows.data, rows.batch, demand)
