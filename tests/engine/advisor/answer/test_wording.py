"""Words that several parts of the answer share."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.answer.wording import ratio_words


@pytest.mark.parametrize(
    ("ratio", "cost", "speed"),
    [
        (None, "", ""),
        (1.004, "as cheap", "as fast"),
        (0.73, "27 % cheaper", "27 % slower"),
        (1.3, "30 % costlier", "30 % faster"),
        (1.998, "2 x the cost", "2 x as fast"),
        (2.64, "2.6 x the cost", "2.6 x as fast"),
        (12.4, "12.4 x the cost", "12.4 x as fast"),
        (120.0, "120 x the cost", "120 x as fast"),
    ],
)
def test_ratios_in_words(ratio: float | None, cost: str, speed: str) -> None:
    assert ratio_words(ratio, of_cost=True) == cost
    assert ratio_words(ratio, of_cost=False) == speed
