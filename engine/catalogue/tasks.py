"""Task profiles: what each kind of task means to sizing, planning and the questionnaire (``knowledge/tasks.yaml``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from whichgpu.engine.core import FrozenModel, KnowledgeError, Problem, nearest_words, read_constants


SizedAs = Literal["serving", "adapters", "full", "from_scratch", "trial"]


class TaskProfile(FrozenModel):
    """What one choice of the fact ``task`` means."""

    sized_as: SizedAs
    trains: bool
    serves: bool
    skips_topics: tuple[str, ...]  # of questions
    other_phase: str  # the task beside it, where a project both trains and serves
    sources: tuple[str, ...]


class TasksFile(FrozenModel):
    """Everything in ``knowledge/tasks.yaml``."""

    tasks: dict[str, TaskProfile]


@cache
def task_profiles() -> Mapping[str, TaskProfile]:
    """The profiles that come with the program, by task. Raises KnowledgeError."""
    return read_constants(TasksFile, "tasks.yaml").tasks


def profile_of(task: str) -> TaskProfile:
    """The profile of a task. Raises KnowledgeError where there is none: no task is taken for another in silence."""
    profiles = task_profiles()
    if task not in profiles:
        raise KnowledgeError(_without_profile(task, profiles))
    return profiles[task]


def check_profiles(choices: Collection[str], folder: Path) -> None:
    """Hold the choices of ``task`` and the profiles of a knowledge folder against each other.

    Sizing goes by the profiles that come with the program, as it goes by the program's constants: a profile that only
    another folder has, or has otherwise, is refused rather than passed over.

    Raises:
        KnowledgeError: with every task that has no profile, and every profile that would not be followed.
    """
    profiles = read_constants(TasksFile, "tasks.yaml", folder).tasks
    problems = [_without_profile(task, profiles) for task in choices if task not in profiles]
    problems += [
        Problem(
            "task-profile-not-followed",
            f"the profile of {name!r} in {folder} is not the program's own, by which jobs are sized",
            fact="task",
            fix="change knowledge/tasks.yaml of the program",
        )
        for name, profile in profiles.items()
        if task_profiles().get(name) != profile
    ]
    problems += [
        Problem(
            "unknown-task",
            f"the profile of {name!r} names {profile.other_phase!r} as its other phase, and no task is called so",
            nearest=nearest_words(profile.other_phase, choices),
            fix="name one of the tasks of tasks.yaml",
        )
        for name, profile in profiles.items()
        if profile.other_phase not in profiles
    ]
    if problems:
        raise KnowledgeError(problems)


def _without_profile(task: str, profiles: Collection[str]) -> Problem:
    return Problem(
        "no-task-profile",
        f"the task {task!r} has no profile in knowledge/tasks.yaml, so that nothing says how it is sized",
        fact="task",
        nearest=nearest_words(task, profiles),
        fix="add a profile (sized_as, trains, serves, skips_topics, other_phase, sources)",
    )
