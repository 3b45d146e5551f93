"""The terms of cost and speed in words: never more than the table beside them shows."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.answer.plans import _term_words
from whichgpu.engine.advisor.rank import Award
from whichgpu.engine.core.values import Facts


@pytest.mark.parametrize(
    ("award", "facts", "says"),
    [
        (Award(None, "cost", 0.0), {"plan.cost_vs_cheapest": 1.0}, "no plan that qualifies is cheaper"),
        (
            Award(None, "cost", 0.0),
            {"plan.cost_vs_cheapest": 1.25},
            "with a host and what else surrounds the GPUs, no plan that qualifies is cheaper",
        ),
        (
            Award(None, "cost", -0.4),
            {"plan.cost_vs_cheapest": 1.0},
            "no plan that qualifies is cheaper; with a host and what else surrounds the GPUs, another is",
        ),
        (Award(None, "cost", -1.1), {"plan.cost_vs_cheapest": 3.75}, "costs 3.75 x the cheapest plan that qualifies"),
        (Award(None, "cost", -1.1), {}, "cost beside the other plans that qualify"),
        (
            Award(None, "speed", -0.5),
            {"plan.speed_vs_fastest": 0.5},
            "takes 2 x as long as the fastest plan that qualifies",
        ),
        (
            Award(None, "speed", -0.001),
            {"plan.speed_vs_fastest": 0.999},
            "no plan that qualifies is faster by 1 % or more",
        ),
        (Award(None, "cost unknown", -3.0), {}, "no price is known, so it counts as the costliest"),
    ],
)
def test_the_terms_say_what_the_ratios_are(award: Award, facts: Facts, says: str) -> None:
    assert _term_words(award, facts) == says
