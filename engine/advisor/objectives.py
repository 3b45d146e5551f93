"""Reading ``knowledge/objectives.yaml``: what cost and speed weigh."""

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec.structs import asdict

from whichgpu.engine.advisor.options import TradeOffSettings
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core import (
    FrozenModel,
    KnowledgeError,
    Problem,
    kept_in_use,
    locate,
    nearest_words,
    read_constants,
)


class _Entry(FrozenModel):
    meaning: str
    aim: str
    best_plan: str
    cost_exponent: float
    time_exponent: float
    gain_of_doubling: float
    preference_share: float
    half_cost_share: float
    room_share: float
    patience: float
    service_cost_points: float
    sources: tuple[str, ...]


class _Evidence(FrozenModel):
    cost_points: float
    speed_points: float
    around_usd_per_hour: float
    at_once_ms: float
    sources: tuple[str, ...]


class _Guides(FrozenModel):
    most_cost_ratio: float
    most_price_ratio: float
    most_time_ratio: float
    least_saving_usd_per_hour: float
    most_hour_share: float
    sources: tuple[str, ...]


class _Dominance(FrozenModel):
    margin: float
    sources: tuple[str, ...]


class _TradeOffs(TradeOffSettings):
    sources: tuple[str, ...]


class ObjectivesFile(FrozenModel):
    """Everything in ``knowledge/objectives.yaml``."""

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
            **asdict(entry),
            usual_cost_points=file.evidence.cost_points,
            cost_points=file.evidence.cost_points,
            speed_points=file.evidence.speed_points,
            around_usd_per_hour=file.evidence.around_usd_per_hour,
            at_once_ms=file.evidence.at_once_ms if entry.cost_exponent else 0.0,
            guide_cost_ratio=file.guides.most_cost_ratio,
            guide_price_ratio=file.guides.most_price_ratio,
            guide_time_ratio=file.guides.most_time_ratio,
            guide_least_saving=file.guides.least_saving_usd_per_hour,
            guide_hour_share=file.guides.most_hour_share,
            dominance_margin=file.dominance.margin,
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
            f"there is no way to state the objective {name!r} of knowledge/objectives.yaml",
            fact="objective",
            nearest=nearest_words(name, choices),
            fix="add it to the choices of the fact objective in vocabulary.yaml",
        )
        for name in objectives
        if name not in choices
    ]
    if problems:
        raise KnowledgeError(problems)


@kept_in_use
def shipped_objectives() -> Mapping[str, Objective]:
    """The objectives that come with the program, by name. Raises KnowledgeError."""
    return load_objectives(locate("knowledge"))[0]


def load_trade_offs(folder: Path) -> TradeOffSettings:
    """What is tried beside an answer.

    Raises:
        KnowledgeError: with the place of what is wrong.
    """
    return read_constants(ObjectivesFile, "objectives.yaml", folder).trade_offs
