"""The answer on one screen: twelve workloads as people bring them, at three widths, and the page's ways out of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.cli.advisor import names_of
from whichgpu.cli.pager import show_paged
from whichgpu.cli.pages import page_blocks, sections_of
from whichgpu.cli.render.blocks import Row, Summary, Table
from whichgpu.cli.render.brief import MOST_LINES, brief_blocks
from whichgpu.cli.render.decision import SECTIONS
from whichgpu.cli.render.screen import Screen
from whichgpu.cli.render.text import to_text
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.core import InputError
from whichgpu.engine.core.yaml import read_yaml


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
Whichgpu = Callable[..., Any]
ROOT = Path(__file__).parents[2]
CHAT = str(ROOT / "examples" / "llm-chat-8b.yaml")

#: Beside the nine examples: every task and kind of hardware that they leave out.
OWN: dict[str, dict[str, Any]] = {
    "nothing but a task": {"task": "experimentation"},
    "batch at the edge": {
        "task": "inference",
        "model_name": "yolo11m",
        "deployment_site": "edge",
        "serving_mode": "realtime",
        "video_streams": 8,
        "latency_slo_ms": 50,
    },
    "owned cards and a bill": {
        "task": "inference",
        "model_name": "qwen2.5-32b",
        "gpus_owned": "2 x nvidia-rtx-4090",
        "concurrency": 30,
        "ttft_slo_ms": 800,
        "monthly_cloud_spend_usd": 4000,
        "utilization_pct": 60,
        "trains_and_serves": True,
        "objective": "cheapest",
    },
    "a promise that nothing keeps": {"task": "inference", "model_name": "llama-3.1-70b", "budget_usd_per_hour": 0.01},
}
WORKLOADS = [path.stem for path in sorted((ROOT / "examples").glob("*.yaml"))] + list(OWN)
#: As long as any that is decided; deciding each anew is left to the tests of trade-offs.
TRADE_OFF = {
    "kind": "load",
    "plan": {"id": "nvidia-h100-80gb-sxmx8"},
    "change": {},
    "says": "At 1.33 requests/s instead of 2 requests/s (requests per second at the peak): 4 x RTX PRO 6000 Blackwell "
    "at $16.99 an hour, 33 % cheaper, 16 % faster. Test first whether the quality suffices.",
}


@cache
def answer_to(name: str) -> dict[str, Any]:
    raw = OWN.get(name) or read_yaml(ROOT / "examples" / f"{name}.yaml", error=InputError)
    answer = shipped_advisor().decide(raw, decided_at=MOMENT).to_dict(full=True, traced=False)
    return {**answer, "trade_offs": [TRADE_OFF] * 5}


@pytest.mark.parametrize("name", WORKLOADS)
def test_an_answer_fits_one_screen(name: str, advisor: Advisor) -> None:
    blocks = brief_blocks(answer_to(name), names_of(advisor))
    text = to_text(blocks, Screen(100))
    assert text.count("\n") <= MOST_LINES, text
    assert not any(isinstance(block, Table) for block in blocks)
    for width in (60, 80, 120):
        assert max(map(len, to_text(blocks, Screen(width)).splitlines())) <= width
    if answer_to(name)["recommendation"]:
        for label in ("Price:", "Memory:", "Speed:", "Rent or buy:", "What to do next"):
            assert re.search(rf"^{label}", text, re.MULTILINE), label


def test_targets_are_said_to_be_met_or_missed(advisor: Advisor) -> None:
    answer = answer_to("llm-serving-70b")
    page = to_text(brief_blocks(answer, names_of(advisor)), Screen(200))
    assert re.search(
        r"95 of 100 requests: first token within \S+ ms \(500 ms asked: met(, but not at the slow end of the band)?\)",
        page,
    )
    strict = {**answer, "facts": answer["facts"] | {"ttft_slo_ms": {"value": 1, "origin": "given", "seq": 1}}}
    rows = next(b for b in brief_blocks(strict, names_of(advisor)) if isinstance(b, Summary)).rows
    time = next(row for row in rows if row.label == "Time")
    assert "(1 ms asked: missed)" in time.text
    assert time.tone == "bad"


def test_whoever_has_to_buy_whole_boards_is_told_how_many_gpus_that_is(advisor: Advisor) -> None:
    job = {"task": "inference", "model_name": "llama-3.1-70b", "deployment_site": "datacenter", "concurrency": 8}
    choice = {"gpu_candidates": "nvidia-h200-sxm", "num_gpus": 2}
    answer = advisor.decide(job | choice, decided_at=MOMENT).to_dict(full=True, traced=False)
    bought = answer["recommendation"]["cost"]["gpus_bought"]
    assert bought > answer["recommendation"]["count"]
    page = to_text(brief_blocks(answer, names_of(advisor)), Screen(200))
    assert f"to buy {bought}, for they are sold on whole boards" in page


def test_what_comes_after_the_answer_of_a_stated_aim_is_said_to_be_further_from_it(advisor: Advisor) -> None:
    choice = {"model_name": "whisper-large-v3", "audio_hours_per_hour": 200, "objective": "cheapest"}
    answer = advisor.decide({"task": "inference", **choice}, decided_at=MOMENT).to_dict(full=True, traced=False)
    assert "further from the lowest cost" in to_text(brief_blocks(answer, names_of(advisor)), Screen(200))


def test_colour_says_nothing_that_words_do_not(advisor: Advisor) -> None:
    blocks = brief_blocks(answer_to("llm-serving-70b"), names_of(advisor))
    coloured, plain = to_text(blocks, Screen(colour=True)), to_text(blocks, Screen())
    assert "\x1b[32m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_a_narrow_screen_puts_labels_on_lines_of_their_own() -> None:
    rows = (Row("Price", "one two three"), Row("A long label", "four", share=0.5))
    assert to_text([Summary(rows)], Screen(40)).splitlines()[:3] == ["Price:", "  one two three", "A long label:"]


def test_no_cell_of_a_table_is_broken(advisor: Advisor) -> None:
    blocks = page_blocks(answer_to("lora-13b"), names_of(advisor), ("memory", "alternatives"), everything=False)
    for width in (80, 100, 120):
        for block in blocks:
            if isinstance(block, Table):
                page = to_text([block], Screen(width))
                assert all(cell in page for row in block.rows for cell in row[:-1])


def test_sections_are_shown_by_name(whichgpu: Whichgpu) -> None:
    ran = whichgpu("recommend", CHAT, "--show", "cost, memory")
    assert ran.out.startswith("Cost\n----\n")
    assert "\nMemory\n------\n" in ran.out
    assert "Recommendation" not in ran.out
    ran = whichgpu("recommend", CHAT, "--show", "advise")
    assert ran.code == 2
    assert "--show advise: there is no such section" in ran.err
    assert "did you mean advice?" in ran.err


def test_every_section_is_part_of_everything(advisor: Advisor) -> None:
    answer, names = answer_to("lora-13b"), names_of(advisor)
    whole = page_blocks(answer, names, None, everything=True)
    for name in SECTIONS:
        section = page_blocks(answer, names, sections_of(name), everything=True)
        assert section[0] in whole or "nothing to show" in to_text(section, Screen())


def test_a_pipe_has_no_pager() -> None:
    assert not show_paged("line\n" * 500)


def test_the_readme_shows_what_is_printed(whichgpu: Whichgpu) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```text\n(Recommendation\n.*?)```", readme, re.DOTALL)
    assert found
    printed = whichgpu("recommend", CHAT).out.splitlines()
    assert [line for line in found[1].splitlines() if line != "..." and line not in printed] == []
