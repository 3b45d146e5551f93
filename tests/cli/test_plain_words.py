"""Answers as people speak them, and the words of the conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from whichgpu import Advisor
from whichgpu.cli.interview.dialogue import Dialogue, StoppedError
from whichgpu.cli.interview.replies import on_one_line, steering, understood
from whichgpu.cli.interview.session import Session
from whichgpu.cli.interview.standing import sureness_blocks, why_blocks
from whichgpu.cli.interview.typing_lines import names_for, typed_line
from whichgpu.cli.interview.wishes import WISHES
from whichgpu.cli.interview.wording import line_blocks, offer_blocks, question_blocks
from whichgpu.cli.render.answered import answer_text, owned_cards
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.screen import Screen
from whichgpu.cli.render.text import to_text
from whichgpu.engine.core import InputError
from whichgpu.engine.interview import Answered, Effect, Interviewer, Question, State, Sureness


#: A Sunday, at noon.
MOMENT = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "written", "fact", "value"),
    [
        ("concurrency", "50 users", "concurrency", 50),
        ("concurrency", "about 50 people", "concurrency", 50),
        ("concurrency", "two", "concurrency", 2),
        ("peak_qps", "10 per second", "peak_qps", 10),
        ("peak_qps", "600 a minute", "peak_qps", 10),
        ("peak_qps", "600 requests per minute", "peak_qps", 10),
        ("budget_usd_per_month", "500 dollars a month", "budget_usd_per_month", 500),
        ("budget_usd_per_month", "500 USD per month", "budget_usd_per_month", 500),
        ("peak_qps", "10 requests/s", "peak_qps", 10),
        ("context_tokens", "8k", "context_tokens", 8000),
        ("image_px", "1024 pixels", "image_px", 1024),
        ("latency_slo_ms", "2 seconds", "latency_slo_ms", 2000),
        ("latency_slo_ms", "whole in 20 s", "latency_slo_ms", 20_000),
        ("latency_slo_ms", "within 2 seconds to the first word", "ttft_slo_ms", 2000),
        ("budget_usd_per_month", "$2000 a month", "budget_usd_per_month", 2000),
        ("budget_usd_per_month", "2k per month", "budget_usd_per_month", 2000),
        ("budget_usd_per_month", "24000 a year", "budget_usd_per_month", 2000),
        ("budget_usd_per_month", "$3 an hour", "budget_usd_per_hour", 3),
        ("budget_usd_per_month", "$5000 in all", "budget_usd_total", 5000),
        ("gpus_owned", "4x3090", "gpus_owned", ("nvidia-rtx-3090:4",)),
        ("gpus_owned", "2 x rtx 4090 and one A100 80GB", "gpus_owned", ("nvidia-rtx-4090:2", "nvidia-a100-80gb-sxm:1")),
        ("deadline_hours", "next Friday", "deadline_hours", 126),
        ("deadline_hours", "by tomorrow", "deadline_hours", 30),
        ("deadline_hours", "2026-12-01", "deadline_hours", 222),
        ("deadline_hours", "in a week", "deadline_hours", 168),
        ("deadline_hours", "3 days", "deadline_hours", 72),
        ("objective", "money", "objective", "cheapest"),
        ("objective", "a fair mix", "objective", "balanced"),
        ("deployment_site", "data centre", "deployment_site", "datacenter"),
    ],
)
def test_it_is_understood(asked: str, written: str, fact: str, value: object, advisor: Advisor) -> None:
    of, reading = understood(advisor.vocabulary.facts[asked], written, advisor, MOMENT)
    assert (of.name, reading.value) == (fact, value)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("concurrency", "50 bananas"),
        ("deadline_hours", "yesterday"),
        ("deadline_hours", "2020-01-01"),
        ("run_hours", "next Friday"),
        ("gpus_owned", "4 x toaster"),
        ("peak_qps", "10 per banana"),
        ("peak_qps", "500 tokens per second"),
        ("budget_usd_per_month", "500 euro a month"),
        ("budget_usd_per_month", "500 bananas a month"),
        ("budget_usd_per_month", "3 pounds an hour"),
        ("budget_usd_per_month", "a lot"),
    ],
)
def test_it_is_refused_as_it_was_written(asked: str, written: str, advisor: Advisor) -> None:
    with pytest.raises(InputError):
        understood(advisor.vocabulary.facts[asked], written, advisor, MOMENT)


def test_every_example_of_a_wish_is_understood(advisor: Advisor) -> None:
    for wish in WISHES:
        fact = advisor.vocabulary.facts[wish.facts[0]]
        examples = wish.such_as.replace(", or ", ", ").split(", ")
        assert {understood(fact, example, advisor, MOMENT)[0].name for example in examples} <= set(wish.facts)


def test_now_steers_and_enter_is_marked(advisor: Advisor) -> None:
    assert steering("answer now") == steering("NOW")
    question = Question(advisor.vocabulary.facts["weight_precision"], "plans")
    assert "(usual: Enter)" in to_text(question_blocks(question, 1, "bf16"), Screen())
    question = Question(advisor.vocabulary.facts["context_tokens"], "plans")
    assert "Enter: 2,048 tokens, which is usual" in to_text(question_blocks(question, 1, 2048), Screen())
    assert "Enter" not in to_text(question_blocks(question, 1), Screen())


@pytest.mark.parametrize(
    ("sure", "says"),
    [
        (Sureness(25, 25, 25), "It stays the same in every sample"),
        (
            Sureness(25, 25, 7),
            "stay the same in 25 of 25 samples of the open answers, in 7 the verdict as well.",
        ),
        (
            Sureness(25, 9, 4, ("nvidia-l4", 2)),
            "The GPUs stay the same in 9 of 25 samples",
        ),
    ],
)
def test_how_sure_in_words(sure: Sureness, says: str) -> None:
    text = to_text(sureness_blocks(sure, Names(), left=3, offer=sure.likely), Screen(300))
    assert says in text
    assert "About 3 questions left." in text
    assert ("now gives the answer" in text) is sure.likely


def test_how_sure_stands_below_the_question(advisor: Advisor, tmp_path: Path) -> None:
    seen: list[str] = []
    lines = iter(["inference", "quit"])
    dialogue = Dialogue(
        interviewer=Interviewer(advisor, MOMENT),
        names=Names(),
        session=Session(tmp_path / "s.json"),
        ask_line=lambda fact=None: next(lines),
        show=lambda blocks: seen.append(to_text(blocks, Screen(100))),
    )
    with pytest.raises(StoppedError):
        dialogue.run(State())
    front = next(place for place, text in enumerate(seen) if text.startswith("Leading plan: "))
    assert "2. " in seen[front + 1]
    assert "samples" in seen[front + 2]


def test_numbers_that_come_to_the_same_are_shown_together(advisor: Advisor) -> None:
    question = Question(advisor.vocabulary.facts["context_tokens"], "plans")
    small, large = Answered("nvidia-a30", 1, "rent"), Answered("nvidia-l4", 2, "rent")
    effects = [Effect(90, small, 9), Effect(8191, large, 3), Effect(8192, large, 3), Effect(8193, large, 3)]
    text = to_text(why_blocks(question, (), effects, Names(), {}), Screen(100))
    assert "- 90 tokens: 1 x" in text
    assert "- 8,191 to 8,193 tokens: 2 x" in text


def test_what_somebody_has_is_not_bought(advisor: Advisor) -> None:
    owned = owned_cards({"gpus_owned": ("nvidia-rtx-3090:4",)}, advisor)
    assert owned == {"nvidia-rtx-3090": 4}
    names = Names()
    assert answer_text(Answered("nvidia-rtx-3090", 2, "buy"), names, owned).endswith(", which you have")
    assert answer_text(Answered("nvidia-rtx-3090", 8, "buy"), names, owned).endswith(", buy")
    assert answer_text(Answered("nvidia-rtx-3090", 2, "rent"), names, owned).endswith(", rent")


def test_what_is_rare_is_not_a_wall_of_names() -> None:
    assert len(to_text(offer_blocks(["needs_ecc"] * 60), Screen(80)).splitlines()) <= 4


def test_models_and_cards_complete_as_they_are_typed(advisor: Advisor) -> None:
    facts = advisor.vocabulary.facts
    assert "llama-3.1-8b" in names_for(facts["model_name"], advisor)
    assert "nvidia-rtx-3090" in names_for(facts["gpus_owned"], advisor)
    assert names_for(facts["concurrency"], advisor) == names_for(None, advisor) == []
    assert typed_line(facts["model_name"], advisor) is None  # No terminal.


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("8k, 5 per second, 40 users", ["8k", "5 per second", "40 users"]),
        ("2,048, 5", ["2,048", "5"]),
        ("1,2", ["1", "2"]),
        (" , 3", ["", "3"]),
        ("", []),
    ],
)
def test_a_line_of_several_answers(line: str, parts: list[str]) -> None:
    assert on_one_line(line) == parts


def test_several_questions_on_a_line_wrap_below_their_numbers(advisor: Advisor) -> None:
    facts = advisor.vocabulary.facts
    question = Question(facts["context_tokens"], "plans", (), (facts["peak_qps"], facts["concurrency"]))
    text = to_text(line_blocks(question, 8, [2048, None, 1]), Screen(50))
    assert "  8. How many tokens" in text
    assert "\n     question and answer together? (usual: 2,048)" in text
    assert "  10. How many users wait" in text
    assert all(len(line) <= 50 for line in text.splitlines())
