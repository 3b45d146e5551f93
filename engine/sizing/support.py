"""How far the figures of a plan may be believed: by the kind of job, by what is known of the model and of the GPU."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu, JobSupport, Level, job_profile, tasks_file, weakest
from whichgpu.engine.sizing.fact_reader import TRANSFORMERS
from whichgpu.engine.sizing.job import Job


Group = Literal["memory", "rates", "times"]
_OF_ANSWERS = "what is written and scored between updates is computed; no run that the constants stand on does that"
_OF_LOOKUPS = "only the bandwidth of its look-ups is computed, and what lies above the tables is a usual share of it"


class Support(Struct, frozen=True):
    """The level of one figure, why it is no higher, and what would tell more."""

    level: Level
    reason: str
    measure: str


def figure_support(job: Job, gpu: Gpu, memory_method: str | None, speeds: Collection[str]) -> dict[str, Support]:
    """The level of each figure of a plan, those that are withheld among them.

    Args:
        job: what runs.
        gpu: on what.
        memory_method: how the plan's memory was computed; None where it is not known.
        speeds: the names of its figures of speed.

    Returns:
        ``memory`` and the figures of speed by name, in that order.
    """
    own = support_of(job)
    found = {"memory": _of_memory(job, gpu, memory_method)}
    for name in speeds:
        found[name] = _of_speed(job, gpu, group_of(name))
    of_run = ["hours"] if job.requests_total else []
    for name in [*own.figures, *of_run]:
        if name not in found and (missing := _missing(job, gpu, group_of(name))):
            found[name] = Support("none", missing, _measure(job))
    return found


def support_of(job: Job) -> JobSupport:
    """What can be said of a job of its kind at best."""
    profile = job_profile(job.profile)
    if looks_up(job):  # What is not known of a recommender is stated.
        return replace(profile.serving, rates="rule_of_thumb", times="rule_of_thumb")
    return profile.training if job.training else profile.serving


def looks_up(job: Job) -> bool:
    """Whether a job is a recommender that is served and whose look-ups are stated."""
    return job.lookups > 0 and job.profile == "recommender" and not job.training


def group_of(figure: str) -> Group:
    """To which group a figure of speed belongs."""
    if figure == "max_concurrency":  # What memory is left, by the cache of one request.
        return "memory"
    return "times" if figure.endswith("_ms") else "rates"


def supported(job: Job, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of speed without those of which nothing can be said for such a job."""
    own = support_of(job)
    return {name: column for name, column in columns.items() if getattr(own, group_of(name)) != "none"}


def speaks_of_speed(job: Job) -> bool:
    """Whether any figure of speed can be given for such a job."""
    own = support_of(job)
    return own.rates != "none" or own.times != "none"


def _of_memory(job: Job, gpu: Gpu, method: str | None) -> Support:
    profile, level = job_profile(job.profile), support_of(job).memory
    measure = f"the peak of memory of {_one_run(job)}"
    if method is None:
        if level == "none":
            return Support("none", profile.reason, _measure(job))
        return Support("none", "the size of the model is not known", f"{measure}; or state model_name or param_count_b")
    if method == "stated":
        return Support("computed", "the memory is as stated, over the GPUs", measure)
    if method != "architecture":
        return Support("rule_of_thumb", _of_size_alone(job), measure)
    if gpu.architecture not in support_of(job).measured_on or not _checked(gpu):
        level = weakest(level, "computed")
    return Support(level, profile.reason, measure)


def _of_speed(job: Job, gpu: Gpu, group: Group) -> Support:
    own = support_of(job)
    level: Level = getattr(own, group)
    if looks_up(job):
        return Support("rule_of_thumb", _OF_LOOKUPS, _measure(job))
    if not model_known(job):
        return Support(weakest(level, "rule_of_thumb"), _of_size_alone(job), _measure(job))
    if not _checked(gpu):
        reason = f"the formulas were not checked on runs on {_such_hardware(gpu)}"
        return Support(weakest(level, "rule_of_thumb"), reason, _measure(job))
    if level == "measured" and gpu.architecture not in own.measured_on:
        architecture = (gpu.architecture or "an unknown architecture").replace("_", " ")
        return Support(
            "computed", f"no run on {architecture} is among those that the constants stand on", _measure(job)
        )
    if level == "measured" and job.rl_method not in {None, "none"}:
        return Support("computed", _OF_ANSWERS, _measure(job))
    return Support(level, _reason(job, group), _measure(job))


def _reason(job: Job, group: Group) -> str:
    profile = job_profile(job.profile)
    return profile.times_reason or profile.reason if group == "times" else profile.reason


def _checked(gpu: Gpu) -> bool:
    """Whether formulas were held against runs on its software, on cards or boards as it is one."""
    return gpu.sw_stack in tasks_file().checked_stacks and gpu.segment != "edge"


def _measure(job: Job) -> str:
    profile = job_profile(job.profile)
    return profile.training_measure or profile.measure if job.training else profile.measure


def model_known(job: Job) -> bool:
    """Whether the model is known by more than its size."""
    if job.family in TRANSFORMERS:
        return job.shape is not None and job.shape.known
    return job.model is not None


def _missing(job: Job, gpu: Gpu, group: Group) -> str | None:
    """Why a figure cannot be given whatever is stated; None where it can."""
    if getattr(support_of(job), group) == "none":
        return _reason(job, group)
    if job.params_b is None:
        return "the size of the model is not known"
    if not gpu.tflops:
        return f"the arithmetic that {gpu.name} does is not known"
    if gpu.mem_bw_tbs is None:
        return f"the memory bandwidth of {gpu.name} is not known"
    return None


def _of_size_alone(job: Job) -> str:
    if job.params_b is None:
        return "only a band that guides name is known, not the model"
    if model_known(job):
        return job_profile(job.profile).reason
    if job.family in TRANSFORMERS:
        return "of the model only the size is known, and its dimensions are those of a usual one"
    return "of the model only the size is known, and the rest is a usual share of it"


def _such_hardware(gpu: Gpu) -> str:
    return "devices in the field" if gpu.segment == "edge" else f"{gpu.name} and its software"


def _one_run(job: Job) -> str:
    return "a few training steps on one GPU" if job.training else "one replica under your load"
