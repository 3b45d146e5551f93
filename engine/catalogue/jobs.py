"""Kinds of job: which formulas size each, and how far their figures may be believed (``knowledge/tasks.yaml``)."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from whichgpu.engine.core import FrozenModel


#: How well a figure is founded, the weakest first; what each means stands in ``knowledge/tasks.yaml``.
Level = Literal["none", "rule_of_thumb", "computed", "measured"]
LEVELS: tuple[Level, ...] = ("none", "rule_of_thumb", "computed", "measured")
#: Formulas by what they describe.
Family = Literal["llm", "encoder", "vision", "diffusion_image", "diffusion_video", "speech", "other"]


class JobSupport(FrozenModel):
    """How well the figures of one kind of job are founded, while serving or in training."""

    memory: Level
    rates: Level  # work per second, and what follows from it: hours of a run
    times: Level  # of a request
    figures: tuple[str, ...]  # that people ask of it
    measured_on: tuple[str, ...] = ()  # architectures


class JobProfile(FrozenModel):
    """One kind of job."""

    label: str
    family: Family
    model_family: str  # the fact that its models have
    words: tuple[str, ...] = ()  # of names of models
    serving: JobSupport
    training: JobSupport
    reason: str  # why its figures are no better founded
    times_reason: str | None = None  # the same of times alone
    measure: str  # what to measure instead
    training_measure: str | None = None  # the same of training alone
    sources: tuple[str, ...]


def weakest(*levels: Level) -> Level:
    """The weakest of some levels."""
    return min(levels, key=LEVELS.index)


class JobWords:
    """Finds the kind of job that the name of a model says."""

    def __init__(self, jobs: dict[str, JobProfile]) -> None:
        self._jobs = {job: [_plain(word) for word in profile.words] for job, profile in jobs.items()}

    @cache  # noqa: B019  # Made once for a program.
    def job_of(self, name: str) -> str | None:
        """The first kind of which a word is in the name; None where the name says none."""
        plain = _plain(name)
        for job, words in self._jobs.items():
            if any(word[:-2] in plain if word.endswith("*-") else word in plain for word in words):
                return job
        return None


def _plain(name: str) -> str:
    """A name as lower-case words between dashes: ``-bge-m3-``."""
    return f"-{re.sub(r'[^a-z0-9*]+', '-', name.casefold()).strip('-')}-"
