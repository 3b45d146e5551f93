"""Task profiles: what each kind of task means to sizing, planning and the questionnaire (``knowledge/tasks.yaml``)."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from pydantic import ConfigDict

from whichgpu.engine.core.constants import read_constants
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import nearest_words


SizedAs = Literal["serving", "adapters", "full", "from_scratch", "trial"]


class TaskProfile(BaseModel):
    """What one choice of the fact ``task`` means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sized_as: SizedAs
    trains: bool
    serves: bool
    skips_topics: tuple[str, ...]  # of questions
    other_phase: str  # the task beside it, where a project both trains and serves
    sources: tuple[str, ...]


class TasksFile(BaseModel):
    """Everything in ``knowledge/tasks.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: dict[str, TaskProfile]


@cache
def load_tasks(folder: Path | None = None) -> Mapping[str, TaskProfile]:
    """The profiles of a knowledge folder, or of the one that comes with the program, by task. Raises KnowledgeError."""
    return read_constants(TasksFile, "tasks.yaml", folder).tasks


def profile_of(task: str) -> TaskProfile:
    """The profile of a task. Raises KnowledgeError where there is none: no task is taken for another in silence."""
    profiles = load_tasks()
    if task not in profiles:
        raise KnowledgeError([_without_profile(task, profiles)])
    return profiles[task]


def check_profiles(choices: Collection[str], folder: Path | None) -> None:
    """Hold the choices of ``task`` against the profiles. Raises KnowledgeError with every task that has none."""
    profiles = load_tasks(folder)
    missing = [_without_profile(task, profiles) for task in choices if task not in profiles]
    unknown = [
        Problem(
            "unknown-task",
            f"the profile of {name!r} names {profile.other_phase!r} as its other phase, and no task is called so",
            nearest=nearest_words(profile.other_phase, choices),
            fix="name one of the tasks of tasks.yaml",
        )
        for name, profile in profiles.items()
        if profile.other_phase not in profiles
    ]
    if missing or unknown:
        raise KnowledgeError([*missing, *unknown])


def _without_profile(task: str, profiles: Collection[str]) -> Problem:
    return Problem(
        "no-task-profile",
        f"the task {task!r} has no profile in knowledge/tasks.yaml, so that nothing says how it is sized",
        fact="task",
        nearest=nearest_words(task, profiles),
        fix="add a profile (sized_as, trains, serves, skips_topics, other_phase, sources)",
    )
