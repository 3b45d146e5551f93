"""What a rule does, in words: claims and bands beside the points."""

from __future__ import annotations

import pytest

from whichgpu.engine.rules.rulebook.effects import Points
from whichgpu.engine.rules.rulebook.model import Claim


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        (Points(2, "fit"), "2 points for the plan, on fit"),
        (
            Points(2, "speed", Claim("speed", 2, "nvidia-h100")),
            "2 points for the plan, on speed; a claim that is checked: speed 2 x that of nvidia-h100",
        ),
        (
            Points(-3, "cost", Claim("throughput_per_usd", None, "nvidia-a100")),
            "3 points against the plan, on cost; a claim that is checked: throughput per USD beside nvidia-a100",
        ),
        (
            Points(1, "efficiency", Claim("efficiency")),
            "1 points for the plan, on efficiency; a claim that is checked: efficiency beside the other plans",
        ),
        (Points(3, "fit", None, "cards"), "3 points for the plan, on fit; a guide names these cards for the case"),
        (
            Points(4, "scale", None, "counts"),
            "4 points for the plan, on scale; a guide names this number of GPUs for the case",
        ),
    ],
    ids=str,
)
def test_points_say_what_they_stand_for(effect: Points, said: str) -> None:
    assert effect.words("{:g}".format) == said
