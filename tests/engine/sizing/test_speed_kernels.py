"""How long a step takes whose kernels start one by one and compute: longer than either, by no more than both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.sizing.speed_kernels import with_starts


SECONDS = st.floats(1e-6, 1e3)


@given(SECONDS, SECONDS)
def test_a_step_lies_between_the_longer_time_and_both(computing: float, starting: float) -> None:
    step = with_starts(computing, starting)
    assert max(computing, starting) <= step * (1 + 1e-12)
    assert step <= (computing + starting) * (1 + 1e-12)


@given(SECONDS, SECONDS, st.floats(1.01, 10))
def test_more_of_either_takes_longer(computing: float, starting: float, more: float) -> None:
    assert with_starts(computing * more, starting) >= with_starts(computing, starting)
    assert with_starts(computing, starting * more) >= with_starts(computing, starting)


def test_what_is_compiled_starts_at_once() -> None:
    assert with_starts(np.array([0.1, 2.0]), 0.0) == pytest.approx([0.1, 2.0])
