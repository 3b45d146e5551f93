"""How a job is split over a count of GPUs: the layouts that there are, those that exchange least first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.sizing import SHARDINGS, Ints, Job, Layout, Rows, degrees_of, expert_sharers, splits_models


#: Heads and key-value heads of a model whose dimensions are not known: published ones split evenly.
_USUAL_HEADS = (64, 8)

#: Bits of the number that stands for a layout: no layout has 2^18 GPUs.
LAYOUT_BITS = 43

#: Shardings as layouts number them: everything whole, and all but the states of the optimizer.
WHOLE, OPTIMIZER_ALONE = SHARDINGS.index("none"), SHARDINGS.index("zero1")


class Layouts(NamedTuple):
    """Layouts as columns, all of one length."""

    tensor: Ints
    pipeline: Ints
    data: Ints
    sharding: Ints  # position in SHARDINGS

    @property
    def width(self) -> Any:
        """GPUs of one replica, or of one data rank in training."""
        return self.tensor * self.pipeline

    @property
    def gpus(self) -> Any:
        """GPUs of each layout."""
        return self.tensor * self.pipeline * self.data

    @property
    def codes(self) -> Any:
        """A number for each layout, the same for equal ones alone, of ``LAYOUT_BITS``."""
        return ((self.tensor << 11 | self.pipeline) << 18 | self.data) << 3 | self.sharding

    def have(self, degrees: Sequence[int | None]) -> Any:
        """Which have these degrees of tensor, pipeline and data; None is any."""
        pairs = zip(degrees, self, strict=False)
        return np.all([np.ones_like(have, np.bool_) if want is None else have == want for want, have in pairs], axis=0)

    def same(self, others: Layouts) -> Any:
        """Where both are equal."""
        return np.all([one == other for one, other in zip(self, others, strict=True)], axis=0)

    def take(self, which: Any) -> Layouts:
        """Some of them, by their positions or a mask."""
        return Layouts(self.tensor[which], self.pipeline[which], self.data[which], self.sharding[which])

    def rows(self, batch: Any, context_gb: Any = 0.0, small_card: Any = False, usable_gb: Any = np.inf) -> Rows:
        """What memory and speed read; what is the same for all layouts may be given once."""
        length = len(self.data)
        batches, contexts, small = (
            one if isinstance(one, np.ndarray) else np.full(length, one) for one in (batch, context_gb, small_card)
        )
        return Rows(self.tensor, self.pipeline, self.data, self.sharding, batches, contexts, small, usable_gb)

    def at(self, row: int) -> Layout:
        """One layout as an object."""
        tensor, pipeline, data, number = (column.item(row) for column in self)
        return Layout(tensor, pipeline, data, SHARDINGS[number])

    def each(self) -> list[Layout]:
        """Every layout as an object."""
        degrees = zip(*(column.tolist() for column in self), strict=True)
        return [Layout(tensor, pipeline, data, SHARDINGS[number]) for tensor, pipeline, data, number in degrees]


def columns_of(each: Sequence[Layout]) -> Layouts:
    """Layouts as columns; there must be one."""
    return Layouts(*degrees_of(each))


def joined_gpus(job: Job, layouts: Layouts) -> Any:
    """GPUs of each layout that work as one: all that train, a replica that serves with those that share its experts."""
    return layouts.gpus if job.training else layouts.width * expert_sharers(job, layouts)


def joined(tables: Sequence[Layouts]) -> Layouts:
    """Layouts one table after the other."""
    return Layouts(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))


class SplitOptions(NamedTuple):
    """All that decides how a job may be split."""

    training: bool
    sizes: tuple[int, int, int]  # attention heads, key-value heads, layers
    stated: tuple[int | None, int | None, int | None]  # degrees: tensor, pipeline, data
    sharding: str | None  # as stated
    sharded: str  # how training states are sharded where it is not stated
    divides_optimizer: bool  # its states alone may be divided over replicas, too: they are most of what training holds


def split_options_of(job: Job) -> SplitOptions:
    """How a job may be split."""
    sizes = (1, 1, 1)
    if job.shape is not None and job.shape.known:
        sizes = (job.shape.heads, job.shape.heads if job.shape.latent else job.shape.kv_heads, job.shape.layers)
    elif job.shape is not None:
        sizes = (*_USUAL_HEADS, job.shape.layers)
    elif job.family in {"diffusion_image", "diffusion_video"} and job.tensor_parallel:
        # Nobody splits a denoiser's layers of himself; servers of generators do where they are told to.
        sizes = (job.tensor_parallel, job.tensor_parallel, 1)
    sharded = "zero3" if job.framework == "deepspeed" else "fsdp"
    if splits_models(job):
        sharded = "zero1"
    stated = (job.tensor_parallel, job.pipeline_parallel, job.data_ranks)
    divides_optimizer = job.training and not job.peft and job.shape is not None and sharded != "zero1"
    return SplitOptions(job.training, sizes, stated, job.sharding, sharded, divides_optimizer)


class Blocks(NamedTuple):
    """The layouts of several counts, one block of rows after the other."""

    rows: Layouts
    lengths: Ints


@lru_cache(maxsize=512)
def blocks_of(manner: SplitOptions, asked: tuple[tuple[int, int], ...]) -> Blocks:
    """The sensible layouts of counts, each with the tensor degree that it allows; see ``layouts``."""
    found = [layouts(manner, *each) for each in asked]
    return Blocks(columns_of([layout for each in found for layout in each]), np.array([len(each) for each in found]))


@lru_cache(maxsize=4096)
def layouts(manner: SplitOptions, count: int, tensor_most: int) -> tuple[Layout, ...]:
    """Every sensible layout of ``count`` GPUs, least exchange first. Stated degrees bind where they can.

    Args:
        manner: how the job may be split.
        count: of GPUs.
        tensor_most: over how many of them a layer may be split.
    """
    stated = manner.stated
    if manner.training and manner.sharding not in {None, "none"} and stated[:2] == (None, None):
        # ZeRO spreads over data ranks; who splits layers as well says so, or states fewer ranks than there are GPUs.
        stated = (1, 1, count) if stated[2] is None else (None, 1, stated[2])
    splits = _splits(count, tensor_most, manner.sizes, stated)
    if manner.training:
        return tuple(_training(manner, count, splits))
    return tuple(Layout(tensor, pipeline, count // (tensor * pipeline)) for tensor, pipeline in splits)


def _training(manner: SplitOptions, count: int, splits: tuple[tuple[int, int], ...]) -> Iterator[Layout]:
    for tensor, pipeline in splits:
        data = count // (tensor * pipeline)
        if manner.sharding:
            yield Layout(tensor, pipeline, data, manner.sharding)
        elif pipeline > 1:
            # Gathering weights for every micro-batch of a pipeline would undo what sharding saves.
            yield Layout(tensor, pipeline, data, "zero1" if data > 1 else "none")
        else:
            if tensor == 1 or data == 1:
                yield Layout(tensor, 1, data)
            if data > 1 and manner.divides_optimizer:
                yield Layout(tensor, 1, data, "zero1")
            if data > 1:
                yield Layout(tensor, 1, data, manner.sharded)


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


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """All divisors, smallest first."""
    small = [step for step in range(1, math.isqrt(number) + 1) if number % step == 0]
    return tuple(sorted({*small, *(number // step for step in small)}))
