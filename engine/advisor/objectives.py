"""Reading ``knowledge/objectives.yaml``: what cost and speed weigh."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path

from pydantic import BaseModel
from pydantic import ConfigDict

from whichgpu.engine.advisor.options import Loosening
from whichgpu.engine.advisor.options import TradeOffSettings
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core.constants import read_constants
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.folders import locate


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    meaning: str
    aim: str
    best_plan: str
    cost_exponent: float
    time_exponent: float
    gain_of_doubling: float
    preference_share: float
    sources: tuple[str, ...]


class _Evidence(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    cost_points: float
    speed_points: float
    around_usd_per_hour: float
    sources: tuple[str, ...]


class _Guides(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    most_cost_ratio: float
    sources: tuple[str, ...]


class _Dominance(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    margin: float
    sources: tuple[str, ...]


class _TradeOffs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    least_gain: float
    most_decisions: int
    most_listed: int
    steps: tuple[float, ...]
    serving_precisions: dict[str, dict[str, tuple[str, ...]]]
    training_precisions: dict[str, dict[str, tuple[str, ...]]]
    targets: dict[str, Loosening]
    budgets: dict[str, Loosening]
    loads: dict[str, Loosening]
    narrowing: tuple[str, ...]
    places: tuple[str, ...]
    cards: tuple[str, ...]
    sources: tuple[str, ...]


class ObjectivesFile(BaseModel):
    """Everything in ``knowledge/objectives.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    objectives: dict[str, _Entry]
    default: str
    evidence: _Evidence
    guides: _Guides
    dominance: _Dominance
    trade_offs: _TradeOffs


def load_objectives(folder: Path) -> tuple[dict[str, Objective], str]:
    """The objectives by name, and the name of the default.

    Raises:
        KnowledgeError: with the place of what is wrong.
    """
    file = read_constants(ObjectivesFile, "objectives.yaml", folder)
    objectives = {
        name: Objective(
            name=name,
            cost_exponent=entry.cost_exponent,
            time_exponent=entry.time_exponent,
            gain_of_doubling=entry.gain_of_doubling,
            preference_share=entry.preference_share,
            cost_points=file.evidence.cost_points,
            speed_points=file.evidence.speed_points,
            around_usd_per_hour=file.evidence.around_usd_per_hour,
            guide_cost_ratio=file.guides.most_cost_ratio,
            dominance_margin=file.dominance.margin,
            meaning=entry.meaning,
            aim=entry.aim,
            best_plan=entry.best_plan,
            sources=entry.sources,
        )
        for name, entry in sorted(file.objectives.items())
    }
    return objectives, file.default


def check_objectives(choices: Collection[str], objectives: Collection[str]) -> None:
    """Hold the choices of the fact ``objective`` against the objectives. Raises KnowledgeError where they differ."""
    problems = [
        Problem(
            "no-such-objective",
            f"{name!r} is a choice of the fact objective, and knowledge/objectives.yaml has no objective of that name",
            fact="objective",
            nearest=nearest_words(name, objectives),
            fix="add it there, or take the choice out of vocabulary.yaml",
        )
        for name in choices
        if name not in objectives
    ]
    problems += [
        Problem(
            "objective-without-choice",
            f"nobody can state the objective {name!r} of knowledge/objectives.yaml",
            fact="objective",
            nearest=nearest_words(name, choices),
            fix="add it to the choices of the fact objective in vocabulary.yaml",
        )
        for name in objectives
        if name not in choices
    ]
    if problems:
        raise KnowledgeError(problems)


@cache
def shipped_objectives() -> Mapping[str, Objective]:
    """The objectives that come with the program, by name. Raises KnowledgeError."""
    return load_objectives(locate("knowledge"))[0]


def load_trade_offs(folder: Path) -> TradeOffSettings:
    """What is tried beside an answer.

    Raises:
        KnowledgeError: with the place of what is wrong.
    """
    entry = read_constants(ObjectivesFile, "objectives.yaml", folder).trade_offs
    return TradeOffSettings(**{field.name: getattr(entry, field.name) for field in fields(TradeOffSettings)})
