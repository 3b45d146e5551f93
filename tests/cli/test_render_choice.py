"""The choice in words: chosen over, what preferences cost, trade-offs, claims, and notes beside alternatives."""

from __future__ import annotations

from typing import Any

import pytest

from whichgpu.cli.render.blocks import Bullets, Paragraph
from whichgpu.cli.render.choice import chosen_over_blocks, plan_name, standing_words, trade_off_blocks
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.reasons import claim_blocks, stand_in_blocks


NAMES = Names(
    gpus={"nvidia-rtx-4090": "RTX 4090", "nvidia-b200": "B200"},
    facts={"lifecycle_stage": "project stage", "rocm_ok": "AMD software is fine", "task": "task"},
)


def over(**changes: Any) -> dict[str, Any]:
    return {
        "id": "nvidia-rtx-4090x1",
        "gpu": "nvidia-rtx-4090",
        "count": 1,
        "usd_per_hour": 0.38,
        "cost_ratio": 0.86,
        "speed_ratio": 3.0,
        "price_usd_per_hour": 0.06,
        "reason": "fallback",
        "rule": "consumer-cards-not-in-production",
        "because": "Consumer cards are not for production",
        "facts": ["lifecycle_stage"],
        "waits_for": ["mission_critical"],
        "sources": [],
        **changes,
    }


def preferred(**changes: Any) -> dict[str, Any]:
    return {
        "id": "nvidia-b200x1",
        "gpu": "nvidia-b200",
        "count": 1,
        "usd_per_hour": 4.0,
        "cost_ratio": 0.9,
        "speed_ratio": 1.0,
        "price_usd_per_hour": 1.23,
        "share": 0.08,
        "rules_for": ["nvidia-is-the-safe-choice"],
        "rules_against": [],
        **changes,
    }


def decision(objective: str = "cheapest", **recommendation: Any) -> dict[str, Any]:
    facts = {"task": {"value": "inference"}}
    return {
        "objective": objective,
        "facts": facts,
        "recommendation": {"gpu": "nvidia-rtx-4090", "count": 2, **recommendation},
    }


def lines(blocks: list[Any]) -> list[str]:
    found = []
    for block in blocks:
        if isinstance(block, Paragraph):
            found.append(block.text)
        elif isinstance(block, Bullets):
            found += [item.text for item in block.items]
    return found


def test_a_reason_rests_on_what_was_stated_or_assumed_and_not_on_what_follows() -> None:
    """What people tolerate is assumed, and a parameter count looked up: neither was stated by anybody."""
    entry = over(reason="late", rule=None, facts=["lifecycle_stage", "rocm_ok", "task"], because="Too late")
    job = decision(chosen_over=[entry])
    job["facts"] |= {
        "lifecycle_stage": {"value": "production", "origin": "given"},
        "rocm_ok": {"value": True, "origin": "assumed"},
        "task": {"value": "inference", "origin": "looked_up"},
    }
    said = lines(chosen_over_blocks(job, NAMES, everything=False))
    assert said[1].endswith(
        "Too late; stated: project stage (lifecycle_stage); assumed: AMD software is fine (rocm_ok). "
        "That costs $0.06 an hour."
    )


def test_what_was_passed_over_is_named_with_its_reason_and_price() -> None:
    said = lines(chosen_over_blocks(decision(chosen_over=[over()]), NAMES, everything=False))
    assert said[1] == (
        "1 x RTX 4090 ($0.38 an hour, 14 % cheaper, 3 x as fast): Consumer cards are not for production; "
        "stated: project stage (lifecycle_stage). That costs $0.06 an hour."
    )


def test_a_reason_is_said_once_and_four_plans_are_shown() -> None:
    entries = [over(count=count, id=f"nvidia-rtx-4090x{count}") for count in range(1, 7)]
    said = lines(chosen_over_blocks(decision(chosen_over=entries), NAMES, everything=False))
    assert said[2].endswith(": likewise. That costs $0.06 an hour.")
    assert said[-1] == "and 2 more plans; --all shows them"
    assert len(said) == 6
    assert len(lines(chosen_over_blocks(decision(chosen_over=entries), NAMES, everything=True))) == 7


def test_a_guides_reason_speaks_of_the_answer() -> None:
    entry = over(reason="guide_cards", because="The table names these cards", facts=["task"])
    said = lines(chosen_over_blocks(decision(chosen_over=[entry]), NAMES, everything=False))
    assert "A guide recommends the answer's card for such work, and not this one; stated: task." in said[1]


def test_where_the_answer_stands_in_for_a_guides_card_that_is_said() -> None:
    first = {"gpu": "nvidia-rtx-4090", "count": 2, "cost_ratio": 1.25, "speed_ratio": 0.5, "rules": ["a", "b"]}
    answered = decision(chosen_over=[over(reason="guide_cards")], stands_in_for=first)
    (says,) = lines(stand_in_blocks(answered, NAMES))
    assert says == (
        "The guides and the evidence put 2 x RTX 4090 first (rules a and b). "
        "This plan stands in for it, 20 % cheaper and 2 x as fast."
    )
    said = lines(chosen_over_blocks(answered, NAMES, everything=False))
    assert "the same card beats the guide's plan by less" in said[1]
    other = decision(chosen_over=[over(reason="guide_cards", gpu="nvidia-l4")], stands_in_for=first)
    said = lines(chosen_over_blocks(other, NAMES, everything=False))
    assert "A guide recommends another card for such work; the answer takes its place, and not this plan" in said[1]
    assert stand_in_blocks(decision(), NAMES) == []


def test_what_could_be_stated_is_named_where_the_reason_does_not() -> None:
    entry = over(facts=[], waits_for=["rocm_ok"], because="It runs rocm")
    assert (
        "It runs rocm; not stated: AMD software is fine (rocm_ok)."
        in lines(chosen_over_blocks(decision(chosen_over=[entry]), NAMES, everything=False))[1]
    )
    named = over(facts=[], waits_for=["rocm_ok"], because="It runs rocm (rocm_ok)")
    assert (
        "It runs rocm (rocm_ok). "
        in lines(chosen_over_blocks(decision(chosen_over=[named]), NAMES, everything=False))[1]
    )


@pytest.mark.parametrize(
    ("objective", "cost", "says"),
    [
        ("cheapest", preferred(), "costs $1.23 an hour (8 %); without it: 1 x B200 ($4.00 an hour, 10 % cheaper"),
        ("cheapest", preferred(price_usd_per_hour=-1.0), "makes the work 8 % costlier; without it"),
        ("fastest", preferred(price_usd_per_hour=-2.75), "costs 8 % of the time and saves $2.75 an hour; without"),
        ("balanced", preferred(), "makes cost x time 8 % higher and costs $1.23 an hour; without it"),
    ],
)
def test_what_preferences_cost(objective: str, cost: dict[str, Any], says: str) -> None:
    said = lines(chosen_over_blocks(decision(objective, preference_cost=cost), NAMES, everything=False))
    assert f"What the rules prefer (for it: nvidia-is-the-safe-choice) {says}" in said[1]


def test_nothing_is_said_where_nothing_was_passed_over() -> None:
    assert chosen_over_blocks(decision(), NAMES, everything=False) == []
    assert chosen_over_blocks(decision(chosen_over=[], preference_cost=None), NAMES, everything=False) == []


def trade_off(kind: str, says: str, change: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"kind": kind, "says": says, "change": change}


def test_the_largest_gain_of_each_kind_is_shown_and_what_is_owned() -> None:
    found = [
        trade_off("precision", "int4", {"weight_precision": "int4"}),
        trade_off("precision", "fp8", {"weight_precision": "fp8"}),
        trade_off("spot", "spot", {"interruptible": True}),
        trade_off("target", "later", {"deadline_hours": 40}),
        trade_off("place", "place", {"regions_allowed": None}),
        trade_off("owned", "own"),
    ]
    blocks = trade_off_blocks({**decision(), "trade_offs": found}, everything=False)
    assert lines(blocks)[1:] == ["int4", "spot", "later", "own", "and 2 more; --all shows them"]
    bullets = blocks[-1]
    assert isinstance(bullets, Bullets)
    assert bullets.items[1].below == ("--set interruptible=yes",)
    everything = lines(trade_off_blocks({**decision(), "trade_offs": found}, everything=True))
    assert everything[1:] == [entry["says"] for entry in found]


def test_a_fact_that_goes_is_set_to_unknown() -> None:
    found = [trade_off("place", "place", {"regions_allowed": None})]
    bullets = trade_off_blocks({**decision(), "trade_offs": found}, everything=False)[-1]
    assert isinstance(bullets, Bullets)
    assert bullets.items[0].below == ("--set regions_allowed=unknown",)


def test_records_without_trade_offs_say_nothing_of_them() -> None:
    assert trade_off_blocks(decision(), everything=True) == []


def test_claims_stand_beside_what_is_computed() -> None:
    text = "the guide says 2.0 x the speed of an H100; computed here 1.03 x"
    claim = {"text": text, "rule": "h200-serves-70b-faster", "over": "nvidia-h100", "claimed_ratio": 2.0}
    said = lines(claim_blocks(decision(claims=[claim])))
    assert said[1:] == ["The guide says 2.0 x the speed of an H100; computed here 1.03 x."]
    assert claim_blocks(decision(claims=[{**claim, "over": None, "claimed_ratio": None}])) == []


def test_a_job_is_costlier_for_its_work_and_not_by_the_hour() -> None:
    job = decision(chosen_over=[over(cost_ratio=0.8, price_usd_per_hour=30.0)])
    job["facts"]["task"]["value"] = "pretraining"
    said = lines(chosen_over_blocks(job, NAMES, everything=False))
    assert said[1].endswith("(lifecycle_stage). That makes the work 25 % costlier.")


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ({"dominated_by": "nvidia-b200x2-tp2-dp1", "gpu": "nvidia-l4", "count": 1}, "beaten by 2 x B200"),
        (
            {"dominated_by": "nvidia-b200x2-tp2-dp1", "gpu": "nvidia-b200", "count": 2, "below_for": "outweighed"},
            "2 x B200 split or placed otherwise is better value",
        ),
        ({"dominated_by": None, "below_for": "fallback"}, "kept back: chosen only where nothing else does the work"),
        ({"dominated_by": None, "below_for": "evidence"}, ""),
        ({}, ""),
    ],
)
def test_why_an_alternative_is_not_the_answer(plan: dict[str, Any], says: str) -> None:
    assert standing_words(plan, NAMES) == says


def test_behind_a_stand_in_no_guide_is_said_to_name_the_answers_card_or_number() -> None:
    other = {"dominated_by": None, "below_for": "guide_cards", "gpu": "nvidia-b200", "count": 6}
    named = {"gpu": "nvidia-b200", "count": 8, "stands_in_for": None}
    assert standing_words(other, NAMES, named) == "kept back: no guide recommends its card for such work"
    stand_in = {**named, "stands_in_for": {"id": "nvidia-h200-sxmx8"}}
    assert "whose place the answer takes" in standing_words(other, NAMES, stand_in)


@pytest.mark.parametrize(
    ("plan", "name"), [("nvidia-rtx-4090x1", "1 x RTX 4090"), ("nvidia-b200x8-tp8", "8 x B200"), ("odd", "odd")]
)
def test_plans_by_their_id(plan: str, name: str) -> None:
    assert plan_name(plan, NAMES) == name
