"""What would make a job fit: the GPU it does not fit, or else the next smaller one. Every change is sized again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.plans.layouts import columns_of
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.size_columns import rate as rate_of
from whichgpu.engine.sizing import FitChange, Layout, estimate_memory, fit_changes_of, granted_of


_OFFLOAD = "offload"
#: A change that saves less than this share of the memory is not worth naming.
_WORTH = 0.01


class FitStep(Struct, frozen=True):
    """A change as sized: memory per GPU with it alone, whether that fits, and the speed beside that without it."""

    change: FitChange
    per_gpu_gb: float
    fits: bool
    speed_ratio: float | None


class FitSuggestions(Struct, frozen=True):
    """Changes, cheapest first, for one GPU. ``together`` are the first ones that fit when made all at once."""

    gpu: Gpu
    steps: tuple[FitStep, ...]
    together: tuple[FitStep, ...]  # memory and speed with all changes up to this one; empty where one alone suffices


def fit_suggestions_of(plan: Plan, maker: PlanMaker) -> FitSuggestions | None:
    """What would make the job of a plan fit its GPU, or the next smaller one if it fits; None where memory is unknown.

    The layout stays that of the plan, so that only what is named changes.
    """
    if plan.memory is None or plan.gpu.usable_gb is None:
        return None
    needed = plan.memory.per_gpu_gb
    here = granted_of(maker.job, plan.gpu)
    gpu = plan.gpu if here is not None and needed > here else _next_smaller(plan, maker)
    if gpu is None:
        return None
    base = estimate_memory(maker.job, gpu, plan.layout)
    rate = _rate(maker, gpu, plan.layout)
    if base is None:
        return None
    steps = []
    for change in fit_changes_of(maker.job, plan.layout):
        step = _sized(change, maker, gpu, rate)
        if step is not None and step.per_gpu_gb <= base.per_gpu_gb * (1.0 - _WORTH):
            steps.append(step)
    swift = [step for step in steps if step.change.id != _OFFLOAD]
    alone = any(step.fits for step in swift)
    return FitSuggestions(gpu, tuple(steps), () if alone else _together(swift, maker, gpu, plan.layout, rate))


def changes_that_fit(plan: Plan, maker: PlanMaker) -> Iterator[tuple[FitChange, ...]]:
    """Changes with which the job of a plan fits its own GPUs, each a way of its own, the mildest first.

    First what leaves the work as it is, one change alone and then several at once; then what is not in use goes to
    system memory; then what does less, or something else.
    """
    found = list(fit_changes_of(maker.job, plan.layout))
    offload = [change.id for change in found if change.id == _OFFLOAD]
    same = [change.id for change in found if change.id != _OFFLOAD and not change.other_work]
    other = [change.id for change in found if change.other_work]
    groups = [*([name] for name in same), same]
    groups += [offload, [*same, *offload]] if offload else []
    groups += [*([name] for name in other), [*same, *other]]
    yielded = set()
    for names in groups:
        made = _until_it_fits(names, plan, maker)
        key = frozenset(change.id for change in made)
        if made and key not in yielded:
            yielded.add(key)
            yield made


def _until_it_fits(names: Sequence[str], plan: Plan, maker: PlanMaker) -> tuple[FitChange, ...]:
    """Change upon change until the job fits the plan's GPU; none where all of them are not enough."""
    job, layout, made = maker.job, plan.layout, list[FitChange]()
    for name in names:
        # An earlier change may have made this one pointless.
        change = next((found for found in fit_changes_of(job, layout) if found.id == name), None)
        memory = estimate_memory(change.job, plan.gpu, change.layout) if change else None
        if change is None or memory is None:
            continue
        job, layout = change.job, change.layout
        made = [*_without(made, change), change]
        granted = granted_of(job, plan.gpu)
        if granted is not None and memory.per_gpu_gb <= granted:
            return tuple(made)
    return ()


def _without(made: Sequence[FitChange], change: FitChange) -> list[FitChange]:
    """The changes that another does not supersede, as four bits do eight, and QLoRA does LoRA."""
    return [one for one in made if not one.facts.keys() & change.facts.keys()]


def _next_smaller(plan: Plan, maker: PlanMaker) -> Gpu | None:
    """The largest GPU of the same vendor that the job does not fit."""
    if plan.memory is None:
        return None
    needed = plan.memory.per_gpu_gb
    smaller = [
        gpu
        for gpu in maker.knowledge.plannable
        if gpu.id in maker.knowledge.priced_ids and gpu.vendor == plan.gpu.vendor
        if gpu.usable_gb is not None and gpu.usable_gb < needed
    ]
    return min(smaller, key=lambda gpu: (-(gpu.usable_gb or 0.0), gpu.id), default=None)


def _sized(change: FitChange, maker: PlanMaker, gpu: Gpu, rate: float | None) -> FitStep | None:
    memory = estimate_memory(change.job, gpu, change.layout)
    if memory is None or gpu.usable_gb is None:
        return None
    changed = _rate(PlanMaker(change.job, maker.facts, maker.knowledge), gpu, change.layout)
    ratio = changed / rate if changed and rate else None
    granted = granted_of(change.job, gpu)
    return FitStep(change, memory.per_gpu_gb, granted is not None and memory.per_gpu_gb <= granted, ratio)


def _together(
    steps: list[FitStep], maker: PlanMaker, gpu: Gpu, layout: Layout, rate: float | None
) -> tuple[FitStep, ...]:
    """Change upon change, cheapest first, until the job fits; empty where all of them are not enough."""
    job, made = maker.job, list[FitStep]()
    before = float("inf")
    for name in (step.change.id for step in steps):
        change = next((found for found in fit_changes_of(job, layout) if found.id == name), None)
        # An earlier change may have made this one pointless.
        step = _sized(change, maker, gpu, rate) if change else None
        if change is None or step is None or step.per_gpu_gb > before * (1.0 - _WORTH):
            continue
        kept = _without([one.change for one in made], change)
        made = [*(one for one in made if one.change in kept), step]
        if step.fits:
            return tuple(made)
        job, layout, before = change.job, change.layout, step.per_gpu_gb
    return ()


def _rate(maker: PlanMaker, gpu: Gpu, layout: Layout) -> float | None:
    """Tokens or samples per second of a job, whether it fits or not.

    A training step is timed with the micro-batch that its memory is computed for, not with the largest that fits: a
    change that makes room is not faster for it. A server that does not hold all requests lets some of them wait; that
    is not what a change is judged by.
    """
    columns, place = maker.columns_with(gpu)
    batch = float(maker.job.micro_batch) if maker.job.training else np.nan
    found = columns.speed(np.array([place]), columns_of([layout]), np.array([batch]))
    return float(np.nan_to_num(rate_of(found))[0]) or None
