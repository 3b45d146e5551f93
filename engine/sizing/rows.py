"""Plans as columns: what memory and speed read of a plan, one entry for each plan, so that a formula runs over all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.sizing.layout import Layout


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

#: How training states may be sharded, by the number that stands for each in a column.
SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp")
_NUMBER = {name: number for number, name in enumerate(SHARDINGS)}


@cache
def _among(names: tuple[str, ...]) -> Bools:
    """For each sharding whether it is one of these."""
    return np.array([name in names for name in SHARDINGS])


class Rows(NamedTuple):
    """Plans of one job, a column for each property; all columns have the same length.

    ``batch`` is the micro-batch in training and the requests in flight over all replicas while serving.
    """

    tensor: Ints
    pipeline: Ints
    data: Ints
    sharding: Ints  # position in SHARDINGS
    batch: Ints
    context_gb: Floats  # of the driver on the GPU
    small_card: Bools  # serving engines take smaller steps on it
    usable_gb: Any = np.inf  # of the GPU; what is held but not needed is given back at its end

    @property
    def count(self) -> Any:
        """GPUs of each plan."""
        return self.tensor * self.pipeline * self.data

    def sharded(self, *names: str) -> Bools:
        """Where the sharding is one of these."""
        return _among(names)[self.sharding]


def rows_of(
    layouts: Sequence[Layout],
    batch: int | Sequence[int] | Ints,
    context_gb: float | Floats = 0.0,
    small_card: bool | Bools = False,
    usable_gb: float = np.inf,
) -> Rows:
    """The rows of layouts; what is the same for all of them may be given once."""
    length = len(layouts)
    return Rows(
        *degrees_of(layouts),
        np.broadcast_to(np.asarray(batch, np.int64), length),
        np.broadcast_to(np.asarray(context_gb, np.float64), length),
        np.broadcast_to(np.asarray(small_card, np.bool_), length),
        usable_gb,
    )


def degrees_of(layouts: Sequence[Layout]) -> tuple[Ints, Ints, Ints, Ints]:
    """The tensor, pipeline and data degrees of layouts, and the numbers of their shardings."""
    tensor, pipeline, data, sharding = zip(*layouts, strict=True)
    return (
        np.array(tensor, np.int64),
        np.array(pipeline, np.int64),
        np.array(data, np.int64),
        np.array([_NUMBER[name] for name in sharding], np.int64),
    )


def ceiling(number: Any, parts: Any) -> Any:
    """Whole numbers divided and rounded up."""
    return -(-number // parts)


def plain(value: Any, row: int) -> Any:
    """The entry of a column as a plain number; what is no column is the same in every row."""
    return value[row].item() if isinstance(value, np.ndarray) else value
