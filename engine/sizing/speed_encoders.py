"""Speed of encoders (BERT, embedding models): a request passes through the network once, and nothing is decoded."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.batching import BatchServer, batch_values
from whichgpu.engine.sizing.demand import Demand
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.speed_rates import Rates
from whichgpu.engine.sizing.speed_serving import Load, load_of, pass_s


#: Requests that a server takes at once; beyond, arithmetic is saturated on any GPU.
_FULL_BATCH = 64.0


def encoder_values(
    job: Job, load: Load, rates: Rates, split: Split, demand: Demand, pick: Pick = "value"
) -> dict[str, Any]:
    """Requests and tokens read per second over all GPUs, and the times of one request, for each row.

    Nothing is generated: there are no tokens per second but those that are read, and no first one to wait for.

    Args:
        job: what is served.
        load: one pass of one request, on one tensor rank of the split.
        rates: of the GPU of each row.
        split: of the plans; the ``batch`` of a row is the requests in flight over all its replicas.
        demand: what is asked.
        pick: the slow, middle or fast end of the constants.
    """

    def passing(batch: Any) -> Any:
        together = load._replace(prefill_flops=load.prefill_flops * batch)
        return pass_s(together, rates, split, job.context_tokens * batch) + rates.per_step

    serving = speed_constants().serving
    outside = serving.request_overhead_ms if job.engine_stated else serving.batch_overhead_ms
    overhead = outside.at(TURNED[pick]) / 1e3
    values = batch_values(BatchServer(passing, _FULL_BATCH, overhead), split.rows.data, split.rows.batch, demand)
    per_s = values["samples_per_s"]
    read = per_s * job.context_tokens
    if demand.tokens_per_s is not None:  # As stated, to the last digit.
        read = np.where(values["overloaded"] > 0, read, demand.tokens_per_s + 0.0 * read)
    return values | {"requests_per_s": per_s, "input_tokens_per_s": read}


def pass_of(job: Job, shape: Shape, rows: Rows) -> Load:
    """One pass of the whole input: every token attends to every other one."""
    tokens = job.context_tokens
    attention = 4.0 * shape.full_layers * shape.heads * shape.head_dim * tokens**2
    flops = 2.0 * (shape.active_params - shape.embedding) * tokens + attention
    return load_of(job, shape, rows)._replace(prefill_flops=flops / rows.tensor, token_flops=0.0)
