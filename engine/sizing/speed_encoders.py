"""Speed of encoders (BERT, embedding models): a request passes through the network once, and nothing is decoded."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.demand import Targets
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows, ceiling
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split
from whichgpu.engine.sizing.speed_serving import Load, Rates, load_of, pass_s


#: Requests that a server takes at once; beyond, arithmetic is saturated on any GPU.
_BATCHES = (64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)


def encoder_values(
    job: Job, load: Load, rates: Rates, split: Split, *, targets: Targets, capacity: bool
) -> dict[str, Any]:
    """Requests and tokens read per second over all GPUs, and the time of one request, for each row.

    Nothing is generated: there are no tokens per second but those that are read, and no first one to wait for.

    Args:
        job: what is served.
        load: one pass of one request, on one tensor rank of the split.
        rates: of the GPU of each row.
        split: of the plans; the ``batch`` of a row is the requests in flight over all its replicas.
        targets: stated limits; one on the first token is one on the whole answer here.
        capacity: it is not stated how many requests are in flight: give the throughput of full batches.
    """
    serving = speed_constants().serving
    overhead = serving.request_overhead_ms.value / 1e3
    data, flight = split.rows.data, split.rows.batch

    def passing(batch: Any) -> Any:
        together = load._replace(prefill_flops=load.prefill_flops * batch)
        return pass_s(together, rates, split, job.context_tokens * batch) + rates.per_step

    each = np.maximum(1, ceiling(flight, data))
    latency = passing(each) + overhead
    values = {"latency_ms": latency * 1e3}
    limits = [limit for limit in (targets.ttft_ms, targets.latency_ms) if limit is not None]
    served = np.full(len(data), np.nan)
    for batch in _BATCHES:  # The largest that keeps the limits.
        time = passing(batch)
        kept = np.isnan(served) & np.all([(time + overhead) * 1e3 <= limit for limit in limits], axis=0)
        served = np.where(kept, batch / time, served)
        if not limits:
            break
    values["qps"] = serving.load_limit.value * data * served
    batch = _BATCHES[0] if capacity else each
    requests = np.minimum(data, np.maximum(1, flight)) if not capacity else data
    values["requests_per_s"] = requests * batch / passing(batch)
    values["samples_per_s"] = values["requests_per_s"]
    values["input_tokens_per_s"] = values["requests_per_s"] * job.context_tokens
    return values


def pass_of(job: Job, shape: Shape, rows: Rows) -> Load:
    """One pass of the whole input: every token attends to every other one."""
    tokens = job.context_tokens
    attention = 4.0 * shape.full_layers * shape.heads * shape.head_dim * tokens**2
    flops = 2.0 * (shape.active_params - shape.embedding) * tokens + attention
    return load_of(job, shape, rows)._replace(prefill_flops=flops / rows.tensor, token_flops=0.0)
