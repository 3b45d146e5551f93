"""What runs on given GPUs: each model in the best number format that fits, with its longest context."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.catalogue import Gpu, ModelSpec
from whichgpu.engine.core import FrozenModel, InputError, Value, collection_paused, read_constants
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import probing
from whichgpu.engine.sizing import granted_of, sizing_constants


#: Longest contexts are given in steps of so many tokens.
_CONTEXT_STEP = 1024
#: Tries to come below the memory where the cache does not grow in proportion.
_TRIES = 4


class FitFile(FrozenModel):
    """Everything in ``knowledge/fit.yaml``."""

    precisions: dict[str, tuple[tuple[str, ...], ...]]  # by software stack, in steps of quality
    only_16bit: tuple[str, ...]
    context_tokens: int
    least_context_tokens: int
    sources: tuple[str, ...]


class FittingModel(Struct, frozen=True):
    """A model that fits, and how.

    Attributes:
        model: id in the catalogue.
        kind: of model.
        params_b: billions of parameters.
        precision: of the weights.
        per_gpu_gb: what it takes of each GPU in decimal GB.
        available_gb: what it may take of each GPU.
        context_tokens: for which it was sized; None where a model has no context.
        longest_context_tokens: that fits for one request.
        speed: figures with one request at a time, by name.
    """

    model: str
    kind: str
    params_b: float | None
    precision: str
    per_gpu_gb: float
    available_gb: float
    context_tokens: int | None
    longest_context_tokens: int | None
    speed: dict[str, float]


class _Room(Struct, frozen=True):
    """The GPUs, and what others take of each of them."""

    gpu: Gpu
    count: int
    used_gb: float


@cache
def fit_file() -> FitFile:
    """What is tried. Raises KnowledgeError."""
    return read_constants(FitFile, "fit.yaml")


def fitting_models(
    advisor: Advisor,
    gpu: Gpu,
    count: int,
    *,
    models: Iterable[ModelSpec],
    used_gb: float = 0.0,
    context_tokens: int | None = None,
    precisions: tuple[str, ...] = (),
) -> Iterator[FittingModel]:
    """The models that fit ``count`` GPUs for one request at a time, each by the formulas of ``size``.

    Args:
        advisor: the loaded advisor.
        gpu: the accelerator.
        count: how many, for one replica of the model.
        models: those to try.
        used_gb: what other programs take of each GPU.
        context_tokens: that the model must hold; else the usual ones, or as many as fit down to the least useful.
        precisions: number formats to try, best first, in place of the usual ones.

    Yields:
        those that fit, in the order of ``models``.
    """
    room = _Room(gpu, count, used_gb)
    for model in models:
        with collection_paused(), probing():
            found = _fit(advisor, model, room, context_tokens, precisions)
        if found is not None:
            yield found


def _fit(
    advisor: Advisor, model: ModelSpec, room: _Room, asked: int | None, precisions: tuple[str, ...]
) -> FittingModel | None:
    contexts = _contexts(model, asked)
    tried = precisions or usual_precisions(model, room.gpu)
    for context in contexts:
        for precision in tried:
            plan, available = _sized(advisor, model, room, precision, context)
            if plan is not None and available is not None and _per_gpu_gb(plan) <= available:
                return _fitting(advisor, model, room, plan, available, precision, context)
    return None


def usual_precisions(model: ModelSpec, gpu: Gpu) -> tuple[str, ...]:
    """The number formats that are tried on a GPU, best quality first; as published where that is the smaller one."""
    file = fit_file()
    steps = file.precisions.get(gpu.sw_stack or "other", file.precisions["other"])
    if model.kind in file.only_16bit:
        steps = steps[:1]
    found = [next((name for name in step if name in gpu.tflops), step[-1]) for step in steps]
    if model.native_precision:  # No program widens what was published narrow.
        found = [model.native_precision, *found[2 if model.native_precision in {"fp8", "int8"} else 3 :]]
    return tuple(found)


def _contexts(model: ModelSpec, asked: int | None) -> list[int | None]:
    if model.max_context is None or model.kind not in {"llm", "multimodal", "encoder_decoder"}:
        return [None]
    file = fit_file()
    usual = min(asked or file.context_tokens, model.max_context)
    contexts: list[int | None] = [usual]
    while asked is None and (usual := usual // 2) >= file.least_context_tokens:
        contexts.append(usual)
    return contexts


def _sized(
    advisor: Advisor, model: ModelSpec, room: _Room, precision: str, context: int | None, *, timed: bool = False
) -> tuple[Plan | None, float | None]:
    """The plan of a model as ``size`` makes it, and what it may take of each GPU; None where it cannot be sized."""
    if _weights_gb(model, precision) > (room.gpu.usable_gb or 0.0) * room.count:
        return None, None
    given: dict[str, Value] = {"task": "inference", "model_name": model.id, "weight_precision": precision}
    given["concurrency"] = 1
    if context is not None:
        given["context_tokens"] = context
    try:
        workload = advisor.read(given)
    except InputError:  # A format or a kind that no job of the vocabulary has.
        return None, None
    intake, spec = advisor.context.resolve(workload.given)
    maker = advisor.context.plan_maker(spec, intake)
    granted = granted_of(maker.job, room.gpu)
    if granted is None:
        return None, None
    layout = maker.layout_at_hand(room.gpu, room.count)
    plan = maker.plan(room.gpu, room.count, "stated", layout=layout, timed=timed)
    if plan.memory is None:
        return None, None
    return plan, min(granted, (room.gpu.usable_gb or granted) - room.used_gb)


def _weights_gb(model: ModelSpec, precision: str) -> float:
    """Its weights alone: what lies beyond all memory by them is not sized at all."""
    weights = sizing_constants().weights.get(precision)
    return (model.params_b or 0.0) * weights.body if weights is not None else 0.0


def _per_gpu_gb(plan: Plan) -> float:
    return plan.memory.per_gpu_gb if plan.memory is not None else math.inf


def _fitting(
    advisor: Advisor,
    model: ModelSpec,
    room: _Room,
    plan: Plan,
    available: float,
    precision: str,
    context: int | None,
) -> FittingModel:
    timed, _ = _sized(advisor, model, room, precision, context, timed=True)
    speed = timed.speed.values if timed is not None and timed.speed is not None else {}
    return FittingModel(
        model=model.id,
        kind=model.kind,
        params_b=model.params_b,
        precision=precision,
        per_gpu_gb=_per_gpu_gb(plan),
        available_gb=available,
        context_tokens=context,
        longest_context_tokens=_longest(advisor, model, room, plan, available, precision, context),
        speed={name: value for name, value in speed.items() if math.isfinite(value)},
    )


def _longest(
    advisor: Advisor, model: ModelSpec, room: _Room, plan: Plan, available: float, precision: str, context: int | None
) -> int | None:
    """The longest context that fits: as memory grows from one context to the next, held against the whole sum."""
    if context is None or model.max_context is None:
        return None
    here = _per_gpu_gb(plan)

    def taken(tokens: int) -> float:
        found, _ = _sized(advisor, model, room, precision, tokens)
        return _per_gpu_gb(found) if found is not None else math.inf

    if taken(model.max_context) <= available:
        return model.max_context
    further = min(2 * context, model.max_context)
    growth = (taken(further) - here) / (further - context) if further > context else 0.0
    if not 0.0 < growth < math.inf:
        return context
    longest = min(model.max_context, context + int((available - here) / growth))
    for _ in range(_TRIES):
        longest = max(context, longest - longest % _CONTEXT_STEP)
        if longest == context or taken(longest) <= available:
            return longest
        longest = int(longest * 0.95)
    return context
