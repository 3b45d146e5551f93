"""Profiles of tasks and kinds of job: what each means to sizing, planning and questions (``knowledge/tasks.yaml``)."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from whichgpu.engine.catalogue.jobs import JobProfile, JobWords
from whichgpu.engine.core import FrozenModel, KnowledgeError, Problem, kept_in_use, nearest_words, read_constants


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
    checked_stacks: tuple[str, ...]  # of software, on which measured runs agree with the formulas
    jobs: dict[str, JobProfile]


@kept_in_use
def tasks_file() -> TasksFile:
    """The profiles that come with the program. Raises KnowledgeError."""
    return read_constants(TasksFile, "tasks.yaml")


def task_profiles() -> Mapping[str, TaskProfile]:
    """The profiles of tasks, by task. Raises KnowledgeError."""
    return tasks_file().tasks


def job_profile(job: str) -> JobProfile:
    """The profile of a kind of job; of a kind without one, that of any other."""
    jobs = tasks_file().jobs
    return jobs.get(job) or jobs["other"]


@kept_in_use
def _words() -> JobWords:
    return JobWords(tasks_file().jobs)


def job_of_name(name: str | None) -> str | None:
    """The kind of job that the name of a model says; None where it says none."""
    return _words().job_of(name) if name else None


def profile_of(task: str) -> TaskProfile:
    """The profile of a task. Raises KnowledgeError where there is none: no task is taken for another in silence."""
    profiles = task_profiles()
    if task not in profiles:
        raise KnowledgeError(_without_profile(task, profiles))
    return profiles[task]


def check_profiles(choices: Collection[str], folder: Path, families: Collection[str] = ()) -> None:
    """Hold the choices of ``task`` and ``model_family`` and the profiles of a knowledge folder against each other.

    Sizing goes by the profiles that come with the program, as it goes by the program's constants: a profile that only
    another folder has, or has otherwise, is refused rather than passed over.

    Raises:
        KnowledgeError: with every task that has no profile, and every profile that would not be followed.
    """
    file = read_constants(TasksFile, "tasks.yaml", folder)
    profiles = file.tasks
    problems = [_without_profile(task, profiles) for task in choices if task not in profiles]
    problems += [_without_job(family, file.jobs) for family in families if family not in file.jobs]
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
            "task-profile-not-followed",
            f"the kind of job {name!r} in {folder} is not the program's own, by which jobs are sized",
            fact="model_family",
            fix="change knowledge/tasks.yaml of the program",
        )
        for name, job in file.jobs.items()
        if tasks_file().jobs.get(name) != job
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


def _without_job(family: str, jobs: Collection[str]) -> Problem:
    return Problem(
        "no-job-profile",
        f"the model_family {family!r} has no kind of job in knowledge/tasks.yaml, so that nothing says how it is sized",
        fact="model_family",
        nearest=nearest_words(family, jobs),
        fix="add one under 'jobs', with the level of its figures",
    )


def _without_profile(task: str, profiles: Collection[str]) -> Problem:
    return Problem(
        "no-task-profile",
        f"the task {task!r} has no profile in knowledge/tasks.yaml, so that nothing says how it is sized",
        fact="task",
        nearest=nearest_words(task, profiles),
        fix="add a profile (sized_as, trains, serves, skips_topics, other_phase, sources)",
    )
