"""How each figure of a plan follows from inputs and constants: the formulas run once more, and are remembered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Facts, NumberColumn, Traced, is_number, marked, traced_facts, tracing
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.procurement import procurement_figures
from whichgpu.engine.plans.layouts import Layouts, columns_of
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.sizing import traced_job


def plan_formulas(maker: PlanMaker, plans: Sequence[Plan]) -> dict[str, dict[str, Traced]]:
    """The figures of plans by their names in the trace, each with how it was made.

    Args:
        maker: of the plans' job.
        plans: any of its plans, but for slices of cards.

    Returns:
        Figures by the id of the plan.
    """
    found: dict[str, dict[str, Traced]] = {plan.id: {} for plan in plans}
    with tracing():
        for name, column in _figures(maker, plans):
            if isinstance(column, Traced):
                whole = column if np.shape(column.value) else column.reshape(1)
                for row, plan in enumerate(plans):
                    figure = whole[row if len(whole) > 1 else 0]
                    if not math.isnan(figure):
                        found[plan.id][name] = figure
    return found


def procurement_formulas(facts: Facts, plan: Plan | None, owned_as: Gpu | None) -> dict[str, Traced]:
    """The figures of renting and owning, and their bands, each with how it was made.

    Args:
        facts: as they were resolved.
        plan: the recommended plan.
        owned_as: what would be bought in place of its GPU.
    """
    found: dict[str, Any] = {}
    with tracing():
        if plan is not None:
            prices = {name: getattr(plan.cost, name) for name in ("usd_per_hour", "rented_usd_per_hour")}
            named = {name: Traced(value, f"plan.{name}") for name, value in prices.items() if value is not None}
            count: Any = Traced(plan.count, "plan.count")
            hours: Any = plan.facts.get("plan.hours")
            own = plan.facts if hours is None else {**plan.facts, "plan.hours": Traced(hours, "plan.hours")}
            plan = replace(plan, gpu=_gpu(plan.gpu), count=count, cost=replace(plan.cost, **named), facts=own)
        bought = _gpu(owned_as) if owned_as else None
        for name, figure in procurement_figures(traced_facts(facts), plan, load_economics(), bought).items():
            for end, value in (("", figure.value), (".low", figure.low), (".high", figure.high)):
                found[name + end] = value
    return {name: value for name, value in found.items() if isinstance(value, Traced)}


def _figures(maker: PlanMaker, plans: Sequence[Plan]) -> Iterator[tuple[str, Any]]:
    tracer = maker.traced(traced_job(maker.job), traced_facts(maker.facts))
    # Needs are those of the first GPU of the catalogue, as they were when the plans were made.
    columns = tracer.columns_of([_gpu(gpu) for gpu in (maker.reference, *(plan.gpu for plan in plans))])
    layouts, which = _layouts(plans), np.arange(1, len(plans) + 1)
    why, timed = tuple(plan.why_count for plan in plans), np.ones(len(plans), np.bool_)
    found = tracer.found(columns, which, layouts, layouts, why, timed)
    if found.memory is not None:
        terms: dict[str, Any] = {}
        for part in found.memory.parts:
            name = f"memory.{part.kind.name}_gb"
            terms[name] = terms[name] + part.gb if name in terms else part.gb
        yield from terms.items()
    table = tracer.facts_of(found, columns, machines=np.array([plan.nodes for plan in plans]))
    for name, column in table.items():
        if isinstance(column, NumberColumn):
            yield name, column.values
    ends = [columns.speed(which, layouts, found.max_batch, pick) for pick in ("value", "low", "high")]
    for name, speed in ends[0].items():
        if not name.startswith("_"):
            yield f"speed.{name}", speed
            low, high = columns.of_job.band(name, *(end.get(name, speed) for end in ends))
            yield from ((f"speed.{name}.low", low), (f"speed.{name}.high", high))


def _layouts(plans: Sequence[Plan]) -> Layouts:
    layouts = columns_of([plan.layout for plan in plans])
    degrees: dict[str, Any] = {
        name: Traced(getattr(layouts, name), f"plan.{name}_parallel") for name in ("tensor", "pipeline", "data")
    }
    return layouts._replace(**degrees)


def _gpu(gpu: Gpu) -> Gpu:
    """A GPU whose numbers are named as its facts are."""
    source = f"gpus: {gpu.id}"
    numbers = {
        name: marked(value, f"gpu.{name}", source)
        for name in gpu.__struct_fields__
        if is_number(value := getattr(gpu, name))
    }
    rates = {
        key: Traced(value, f"gpu.{key}_{'tops' if key == 'int8' else 'tflops'}", source=source)
        for key, value in gpu.tflops.items()
    }
    shares = {key: Traced(value, f"gpu.achieved.{key}", source=source) for key, value in gpu.achieved.items()}
    return replace(gpu, **numbers, tflops=rates, achieved=shares)
