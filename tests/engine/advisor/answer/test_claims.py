"""Claims in words: the source's figure beside the computed one."""

from __future__ import annotations

import pytest

from whichgpu import Advisor
from whichgpu.engine.advisor.answer.claims import card_name, claim_dict, claim_sentence, claimed_number, with_article
from whichgpu.engine.advisor.claims import Comparables, PlanFigures, check_claim
from whichgpu.engine.rules.rulebook.effects import Points
from whichgpu.engine.rules.rulebook.model import Claim, Rule


def sentence(
    advisor: Advisor,
    claim: Claim,
    points: float = 2,
    *,
    ours: int = 1,
    theirs: int = 1,
    source: str = "guide",
) -> str:
    gpus = advisor.knowledge.gpus
    mine = PlanFigures("mine", gpus["nvidia-h200-sxm"], ours, 2.0, 103.0, 4.0, 700.0)
    other = PlanFigures("other", gpus["nvidia-h100-80gb-sxm"], theirs, 1.0, 100.0, 2.0, 700.0)
    rule = Rule("r", "r", "prefer", "plan", (), (Points(points, "speed", claim),), "", "", (source,))
    checked = check_claim(rule, mine, Comparables([mine, other], lambda plan: 0.0))
    assert checked is not None
    return claim_sentence(checked, gpus)


@pytest.mark.parametrize(
    ("claim", "points", "said"),
    [
        (
            Claim("speed", 2, "nvidia-h100"),
            2,
            "the guide says 2.0 x the speed of an H100; computed here 1.03 x",
        ),
        (
            Claim("throughput_per_usd", 1.8, "nvidia-h100-80gb-sxm"),
            2,
            "the guide says 1.8 x the work per dollar of an H100 SXM5 80GB; computed here 0.515 x",
        ),
        (
            Claim("cost", None, "nvidia-h100"),
            -2,
            "the guide says costlier than an H100; computed here 2 x the cost of H100 SXM5 80GB",
        ),
        (
            Claim("efficiency"),
            2,
            "the guide says more work per watt than other cards; "
            "computed here 1.03 x the work per watt of 1 x H100 SXM5 80GB",
        ),
    ],
    ids=str,
)
def test_the_figure_of_the_source_stands_beside_the_computed_one(
    advisor: Advisor, claim: Claim, points: float, said: str
) -> None:
    assert sentence(advisor, claim, points) == said


def test_another_number_of_gpus_is_named_and_speed_is_for_each(advisor: Advisor) -> None:
    said = sentence(advisor, Claim("speed", 2, "nvidia-h100"), ours=4, theirs=8)
    assert said == (
        "the guide says 2.0 x the speed of an H100; computed here 2.06 x the speed of 8 x H100 SXM5 80GB for each GPU"
    )
    said = sentence(advisor, Claim("cost", 0.5, "nvidia-h100"), ours=4, theirs=8)
    assert said == "the guide says 0.5 x the cost of an H100; computed here 2 x the cost of 8 x H100 SXM5 80GB"


def test_what_no_guide_says_is_not_called_its_word(advisor: Advisor) -> None:
    said = sentence(advisor, Claim("speed", None, "nvidia-h100"), source="whichgpu-judgement")
    assert said == "our own rule says faster than an H100; computed here 1.03 x the speed of H100 SXM5 80GB"


def test_the_keys_of_a_claim(advisor: Advisor) -> None:
    gpus = advisor.knowledge.gpus
    mine = PlanFigures("mine", gpus["nvidia-h200-sxm"], 1, 2.0, 103.0)
    other = PlanFigures("other", gpus["nvidia-h100-80gb-sxm"], 1, 1.0, 100.0)
    claim = Claim("speed", 2, "nvidia-h100")
    rule = Rule("r", "r", "prefer", "plan", (), (Points(2, "speed", claim),), "", "", ("guide",))
    checked = check_claim(rule, mine, Comparables([other], lambda plan: 0.0))
    assert checked is not None
    assert claim_dict(checked, gpus) == {
        "rule": "r",
        "quantity": "speed",
        "claimed_ratio": 2,
        "over": "nvidia-h100",
        "compared_with": {"gpu": "nvidia-h100-80gb-sxm", "count": 1},
        "per_gpu": False,
        "computed_ratio": pytest.approx(1.03),
        "agrees": True,
        "text": "the guide says 2.0 x the speed of an H100; computed here 1.03 x",
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nvidia-a100", "an A100"),
        ("nvidia-a100-40gb", "an A100 40GB"),
        ("nvidia-h100", "an H100"),
        ("nvidia-b200", "a B200"),
        ("nvidia-t4", "a T4"),
        ("nvidia-l4", "an L4"),
        ("nvidia-rtx-4090", "an RTX 4090"),
        ("nvidia-rtx-a6000", "an RTX A6000"),
        ("amd-mi300x", "an MI300X"),
        ("no-such-card", "a no-such-card"),
    ],
)
def test_cards_are_called_by_what_their_names_share(advisor: Advisor, name: str, said: str) -> None:
    assert with_article(card_name(name, advisor.knowledge.gpus)) == said


@pytest.mark.parametrize(("ratio", "text"), [(2, "2.0"), (2.2, "2.2"), (0.1, "0.1"), (10, "10"), (1.75, "1.75")])
def test_a_ratio_is_written_as_a_source_would(ratio: float, text: str) -> None:
    assert claimed_number(ratio) == text
