"""What numpy says of columns of some hundred rows, without the Python around it, which takes longer than they do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whichgpu.engine.core.fact_table import Codes


def among(codes: Codes, others: Codes) -> NDArray[np.bool_]:
    """Which of these whole numbers are among others; none is below 0. As ``np.isin``."""
    if not codes.size or not others.size:
        return np.zeros(codes.shape, np.bool_)
    held = np.zeros(max(codes.max(), others.max()) + 1, np.bool_)
    held[others] = True
    found: NDArray[np.bool_] = held[codes]
    return found


def known_or(values: Any, instead: float = 0.0) -> Any:
    """The numbers of a column, and another where one is not known (NaN)."""
    return np.where(np.isnan(values), instead, values)
