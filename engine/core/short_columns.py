"""What numpy says of columns of some hundred rows, without the Python around it, which takes longer than they do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core.fact_table import Codes
from whichgpu.engine.core.traced import plain_number


def among(codes: Codes, others: Codes) -> NDArray[np.bool_]:
    """Which of these whole numbers are among others; none is below 0. As ``np.isin``."""
    if not codes.size or not others.size:
        return np.zeros(codes.shape, np.bool_)
    held = np.zeros(max(codes.max(), others.max()) + 1, np.bool_)
    held[others] = True
    found: NDArray[np.bool_] = held[codes]
    return found


def distinct_numbers(numbers: NDArray[np.integer]) -> tuple[Codes, Codes]:
    """Where each distinct number stands first, the smallest number first, and for every number which of them it is.

    As ``np.unique`` with ``return_index`` and ``return_inverse``.
    """
    numbers = plain_number(numbers)
    order = numbers.argsort(kind="stable")
    rising, new = numbers[order], np.ones(len(order), np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=new[1:])
    which = np.empty(len(order), np.intp)
    which[order] = new.cumsum() - 1
    return order[new], which


def known_or(values: Any, instead: float = 0.0) -> Any:
    """The numbers of a column, and another where one is not known (NaN)."""
    return np.where(np.isnan(values), instead, values)
