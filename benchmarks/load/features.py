"""What the engine's own speed model knows of each measured point: bytes, operations, rates, links, room.

Read from outside, through the plan that ``whichgpu size`` makes of the point. Nothing in the engine is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from load.points import Point, facts_of
from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.plans.topology import fabric_of
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.rows import rows_of
from whichgpu.engine.sizing.speed_links import LinkSpeed, Split, link_speed, node_link_speed, split_of
from whichgpu.engine.sizing.speed_peaks import serving_precisions
from whichgpu.engine.sizing.speed_serving import Load, Rates, load_of, prefill_s, rates_of, step_s


@dataclass(frozen=True)
class Features:
    """One replica of one measured point. Bytes and FLOPs are per tensor rank, rates per GPU and second."""

    point: Point
    job: Job
    layout: Layout
    load: Load
    rates: Rates
    split: Split
    link: LinkSpeed
    architecture: str  # of the GPU
    peak_flops: float  # dense, in the precision of the products
    matmul_share: float
    room: float  # sequences whose cache fits one replica

    @property
    def batch(self) -> float:
        """Requests in flight per replica."""
        return max(1.0, (self.point.in_flight or 1.0) / self.layout.data)

    def step_today(self, batch: float) -> float:
        """Seconds of one decode step as the engine has it today."""
        return float(np.asarray(step_s(self.load, self.rates, self.split, batch)).reshape(-1)[0])

    def fill_today(self) -> float:
        """Seconds of one prefill as the engine has it today."""
        found = prefill_s(self.load, self.rates, self.split, self.job.input_tokens)
        return float(np.asarray(found).reshape(-1)[0])


def features_of(point: Point, advisor: Advisor) -> Features | None:
    """The features of a point; None where the tool knows too little of the model or the GPU."""
    facts = {name: value for name, value in facts_of(point).items() if name != "id"}
    try:
        workload = advisor.read(facts)
        intake, model = advisor.context.resolve(workload.given)
        gpu = advisor.knowledge.gpus[point.gpu]
        maker = advisor.context.plan_maker(model, intake)
        plan = maker.plan(gpu, int(facts["count"]), "stated")
    except (InputError, KeyError):
        return None
    job, layout = maker.job, plan.layout
    table = GpuTable((gpu,))
    rates = rates_of(job, table)
    if job.shape is None or plan.speed is None or np.isnan(rates.bandwidth[0]):
        return None
    fabric = fabric_of(gpu)
    nodes = fabric.nodes(layout.count)
    link = link_speed(gpu, fabric.link_of(layout.count))
    between = node_link_speed(gpu, fabric.node_link_of(layout.count), -(-layout.count // max(1, nodes)))
    split = split_of(rows_of([layout], round(point.in_flight or 1)), link, between, nodes)
    peaks = table.peaks(serving_precisions(job.weight_precision))
    return Features(
        point=point,
        job=job,
        layout=layout,
        load=load_of(job, job.shape, layout.tensor),
        rates=rates,
        split=split,
        link=split.tensor_link,
        architecture=str(gpu.architecture),
        peak_flops=float(peaks.flops[0]),
        matmul_share=float(peaks.share[0]),
        room=float(plan.facts.get("plan.max_concurrency") or 0.0) / layout.data,  # type: ignore[arg-type]
    )
