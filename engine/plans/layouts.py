"""How a job is split over a count of GPUs: the layout that exchanges least among those that fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

from whichgpu.engine.plans.topology import Fabric
from whichgpu.engine.sizing import Job, Layout, sizing_constants


#: Heads and key-value heads of a model whose dimensions are not known: published ones split evenly.
_USUAL_HEADS = (64, 8)


def layouts(job: Job, fabric: Fabric, count: int) -> Iterator[Layout]:
    """Every sensible layout of a job on ``count`` GPUs, least exchange first. Stated degrees bind where they can."""
    sizes = (1, 1, 1)
    if job.shape is not None and job.shape.known:
        sizes = (job.shape.heads, job.shape.heads if job.shape.latent else job.shape.kv_heads, job.shape.layers)
    elif job.shape is not None:
        sizes = (*_USUAL_HEADS, job.shape.layers)
    stated = (job.tensor_parallel, job.pipeline_parallel, job.data_ranks)
    if job.training and job.sharding not in {None, "none"} and stated[:2] == (None, None):
        # ZeRO spreads over data ranks; who splits layers as well says so, or states fewer ranks than there are GPUs.
        stated = (1, 1, count) if job.data_ranks is None else (None, 1, job.data_ranks)
    splits = _splits(count, fabric.tensor_most(count), sizes, stated)
    if job.training:
        yield from _training(job, count, splits)
        return
    for tensor, pipeline in splits:
        yield Layout(tensor, pipeline, count // (tensor * pipeline))


def _training(job: Job, count: int, splits: tuple[tuple[int, int], ...]) -> Iterator[Layout]:
    sharded = "zero3" if job.framework == "deepspeed" else "fsdp"
    habits = sizing_constants().training.frameworks.get(job.framework or "")
    if habits is not None and not habits.shards_weights:
        sharded = "zero1"
    for tensor, pipeline in splits:
        data = count // (tensor * pipeline)
        if job.sharding:
            yield Layout(tensor, pipeline, data, job.sharding)
        elif pipeline > 1:
            # Gathering weights for every micro-batch of a pipeline would undo what sharding saves.
            yield Layout(tensor, pipeline, data, "zero1" if data > 1 else "none")
        else:
            if tensor == 1 or data == 1:
                yield Layout(tensor, 1, data)
            if data > 1:
                yield Layout(tensor, 1, data, sharded)


@cache
def _splits(
    count: int,
    tensor_most: int,
    sizes: tuple[int, int, int],
    stated: tuple[int | None, int | None, int | None],
) -> tuple[tuple[int, int], ...]:
    """Pairs of tensor and pipeline degree whose product divides the count, smallest product first.

    Tensor ranks take whole attention heads: the degree divides the heads, and the key-value heads or a multiple of
    them. A pipeline comes only on top of the widest tensor split.
    """
    heads, kv_heads, layers = sizes
    pairs = [
        (tensor, pipeline)
        for tensor in divisors(count)
        if heads % tensor == 0 and (kv_heads % tensor == 0 or tensor % kv_heads == 0)
        for pipeline in divisors(count // tensor)
        if pipeline <= layers
    ]
    bound = [pair for pair in pairs if _as_stated(pair, count, stated)] if any(stated) else []
    if bound:
        return tuple(sorted(bound, key=lambda pair: (pair[0] * pair[1], pair[1])))
    widest = max((tensor for tensor, _ in pairs if tensor <= tensor_most), default=1)
    useful = [(t, p) for t, p in pairs if t <= tensor_most and (p == 1 or t == widest)]
    return tuple(sorted(useful, key=lambda pair: (pair[0] * pair[1], pair[1])))


def _as_stated(pair: tuple[int, int], count: int, stated: tuple[int | None, int | None, int | None]) -> bool:
    tensor, pipeline = pair
    degrees = (tensor, pipeline, count // (tensor * pipeline))
    return all(want is None or want == have for want, have in zip(stated, degrees, strict=True))


@cache
def divisors(number: int) -> tuple[int, ...]:
    """All divisors, smallest first."""
    small = [step for step in range(1, math.isqrt(number) + 1) if number % step == 0]
    return tuple(sorted({*small, *(number // step for step in small)}))
