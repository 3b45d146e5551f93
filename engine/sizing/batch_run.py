"""How long a batch job runs whose requests are known in all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whichgpu.engine.sizing.job import Job


def with_run(job: Job, values: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of speed, and the hours in which a batch job answers all of its requests.

    All requests are there from the start, so that the job runs at the rate of its plan until the last one is answered.
    It takes no less than the time of one.

    Args:
        job: what runs.
        values: its figures of speed by name; columns, NaN where one is not known.
    """
    rate = values.get("requests_per_s", values.get("samples_per_s"))
    if job.training or not job.requests_total or rate is None:
        return dict(values)
    seconds = job.requests_total / rate
    alone_ms = values.get("latency_mean_ms", values.get("latency_ms"))
    if alone_ms is not None:
        seconds = np.maximum(seconds, alone_ms / 1e3)
    return {**values, "hours": seconds / 3600}
