"""Reading ``knowledge/objectives.yaml``: what cost and speed weigh."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel
from pydantic import ConfigDict

from engine.constants_file import read_constants
from engine.decide.rank import Objective


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    meaning: str
    cost_weight: float
    speed_weight: float
    sources: tuple[str, ...]


class ObjectivesFile(BaseModel):
    """Everything in ``knowledge/objectives.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    objectives: dict[str, _Entry]
    default: str
    around_usd_per_hour: float
    around_sources: tuple[str, ...]


def load_objectives(folder: Path) -> tuple[dict[str, Objective], str]:
    """The objectives by name, and the name of the default.

    Raises:
        KnowledgeError: with the place of what is wrong.
    """
    file = read_constants(ObjectivesFile, "objectives.yaml", folder)
    objectives = {
        name: Objective(
            name,
            entry.cost_weight,
            entry.speed_weight,
            file.around_usd_per_hour,
            entry.meaning,
            entry.sources,
        )
        for name, entry in sorted(file.objectives.items())
    }
    return objectives, file.default
