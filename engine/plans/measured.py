"""A run that was timed on a GPU in use: how long the same run takes on other plans."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.sizing import Figure, Floats, Job, SpeedEstimate


_FORMULA = "stated hours of a run x speed on the GPU in use / speed here"
#: By which the speeds of two plans are compared: the first that both have.
_RATES = ("tokens_per_s", "samples_per_s")


class TimedRun(Struct, frozen=True):
    """``hours`` that one run took on ``gpu``."""

    hours: float
    gpu: Gpu
    written: str  # the GPU as it was stated: a family, say

    def elsewhere(self, here: SpeedEstimate, there: Mapping[str, float]) -> SpeedEstimate:
        """The speed of a plan with the hours of the run, by the ratio of estimated speeds.

        Args:
            here: the speed of the plan.
            there: the speed on the GPU in use.

        Returns:
            The same speed where nothing compares the two, or where the hours are known otherwise.
        """
        name = next((name for name in _RATES if here.values.get(name) and there.get(name)), None)
        if name is None or "hours" in here.values:
            return here
        work = self._work(name, there)

        def build() -> dict[str, Figure]:
            figures = here.figures
            rate = figures[name]
            inputs: dict[str, Value] = {**rate.inputs, "run_hours": self.hours, "current_gpu": self.written}
            ends = [work / end for end in (rate.low, rate.value, rate.high) if end]
            hours = Figure(work / rate.value, min(ends), max(ends), "h", _FORMULA, rate.source, inputs)
            return {**figures, "hours": hours}

        return SpeedEstimate({**here.values, "hours": work / here.values[name]}, build)

    def hours_elsewhere(self, here: Mapping[str, Floats], there: Mapping[str, float]) -> Floats:
        """The hours of the run on many plans, by columns of their speed; NaN where nothing compares the two."""
        hours = here["hours"]
        for name in _RATES:
            if there.get(name):
                compared = np.isnan(hours) & (here[name] > 0)
                hours = np.where(compared, self._work(name, there) / np.where(compared, here[name], 1.0), hours)
        return hours

    def _work(self, name: str, there: Mapping[str, float]) -> float:
        """How long the run takes at one token or sample per second, in hours."""
        return self.hours * there[name]


def timed_run(job: Job, facts: Facts, knowledge: Knowledge) -> TimedRun | None:
    """The run that was timed: training whose length in tokens or steps is not stated, on a GPU that is known."""
    hours, name = facts.get("run_hours"), facts.get("current_gpu")
    if not job.training or job.train_tokens or job.train_steps or job.train_samples or name is None:
        return None
    if not isinstance(hours, int | float) or isinstance(hours, bool):
        return None
    ids = knowledge.find_gpu(str(name)).ids
    return TimedRun(float(hours), knowledge.gpus[ids[0]], str(name)) if ids else None
