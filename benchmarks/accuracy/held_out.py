"""Errors on sources that had no part in any constant: each in its turn is left out of the choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import mean
from typing import Any

from mapping import line_of
from msgspec.structs import force_setattr, replace
from scores import speed_score

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.core import Facts
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.plans import Plan, PlanMaker
from whichgpu.engine.sizing import JobSpeed
from whichgpu.engine.sizing.demand import demand_of
from whichgpu.engine.sizing.speed_constants import speed_constants


#: What is fitted, by its place in ``knowledge/speed.yaml``, and the kinds of job that have its rows.
FITTED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "training of transformers": (
        ("pretrain", "full_finetune", "lora", "qlora"),
        (
            "training.memory_passes",
            "training.expert_share",
            "training.attention_share",
            "training.half_tokens",
            "training_use.a100",
            "training_use.hopper",
            "training_use.blackwell",
        ),
    ),
    "diffusion": (
        ("image_generation", "video_generation"),
        ("diffusion.memory_passes", "diffusion.attention_share"),
    ),
}
#: Of the shipped value, in turn.
FACTORS = (0.7, 0.85, 1.0, 1.2, 1.4)


@dataclass(frozen=True)
class HeldOut:
    """Ratios of one source, with the shipped constants and with those that were chosen without it."""

    group: str
    source: str
    shipped: list[float]
    apart: list[float]


@dataclass(frozen=True)
class _Asked:
    """A row, and the plan that it is computed on; its layout is that of the shipped constants."""

    row: dict[str, Any]
    maker: PlanMaker
    facts: Facts
    plan: Plan

    def speed(self) -> dict[str, float]:
        """With the constants as they stand."""
        job, plan = self.maker.job, self.plan
        free = job.training and "batch_size_per_gpu" in job.unstated
        batch = plan.facts.get("plan.max_micro_batch") if free else None
        batch = int(batch) if isinstance(batch, int | float) else None
        asking = JobSpeed(job, demand_of(job, self.facts))
        found = asking.estimate(plan.gpu, plan.layout, plan.link, plan.node_link, nodes=plan.nodes, batch=batch)
        return dict(found.values) if found is not None else {}


def held_out(rows: Iterable[dict[str, Any]]) -> list[HeldOut]:
    """Every source of every group of constants, left out in its turn."""
    advisor, kept = load_advisor(tests=False), list(rows)
    found = []
    for group, (tasks, paths) in FITTED.items():
        asked = [one for row in kept if row["facts"]["task"] in tasks for one in _asked(advisor, row)]
        found += _group(group, asked, paths)
    return found


def _asked(advisor: Advisor, row: dict[str, Any]) -> list[_Asked]:
    line = {name: value for name, value in line_of(row).items() if value is not None and name != "id"}
    gpu, count = advisor.knowledge.find_gpu(line.pop("gpu")), line.pop("count")
    if not gpu.found:
        return []
    try:
        intake, model = advisor.context.resolve(advisor.read(line).given)
    except InputError:
        return []
    maker = advisor.context.plan_maker(model, intake)
    return [_Asked(row, maker, intake.facts, maker.plan(advisor.knowledge.gpus[gpu.ids[-1]], count, "stated"))]


def _group(group: str, asked: list[_Asked], paths: tuple[str, ...]) -> list[HeldOut]:
    shipped = {path: _constant(path).value for path in paths}

    @cache
    def logs(values: tuple[float, ...]) -> dict[str, list[float]]:
        for path, value in zip(paths, values, strict=True):
            _set(path, value)
        return _logs(asked)

    as_shipped = tuple(shipped.values())
    found = []
    for source in sorted(logs(as_shipped)):
        chosen = _choose(as_shipped, lambda values, source=source: _error(logs(values), source))
        apart = logs(chosen)[source]
        found.append(
            HeldOut(group, source, *([math.exp(log) for log in part] for part in (logs(as_shipped)[source], apart)))
        )
    for path, value in shipped.items():
        _set(path, value)
    return found


def _choose(start: tuple[float, ...], error: Callable[[tuple[float, ...]], float]) -> tuple[float, ...]:
    """Each constant by turns, the best of its values with the others as they stand."""
    best = start
    for place, value in enumerate(start):
        tried = [(*best[:place], value * factor, *best[place + 1 :]) for factor in FACTORS]
        best = min(tried, key=error)
    return best


def _error(logs: dict[str, list[float]], without: str) -> float:
    return mean(mean(map(abs, part)) for source, part in logs.items() if source != without)


def _logs(asked: list[_Asked]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for one in asked:
        score = speed_score(one.row, {"speed": one.speed(), "count": one.plan.count})
        if score is not None:
            found.setdefault(score.source, []).append(math.log(score.ratio))
    return found


def _constant(path: str) -> Any:
    section, name = path.split(".")
    held = getattr(speed_constants(), section)
    return held[name] if isinstance(held, dict) else getattr(held, name)


def _set(path: str, value: float) -> None:
    """Change a constant for this process."""
    section, name = path.split(".")
    held, old = getattr(speed_constants(), section), _constant(path)
    new = replace(old, value=value, low=min(old.low, value), high=max(old.high, value))
    if isinstance(held, dict):
        held[name] = new
    else:
        force_setattr(held, name, new)
