from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.cli.advisor import names_of
from whichgpu.cli.render.blocks import Line, Outline, Table, Verbatim
from whichgpu.cli.report.charts import Award, Course, MemoryBar, cost_chart, memory_chart, waterfall
from whichgpu.cli.report.html import linked, to_html
from whichgpu.cli.report.markup import join, tag
from whichgpu.cli.report.page import report_page
from whichgpu.engine.explain.derivation import Phrases
from whichgpu.engine.explain.evidence import gather
from whichgpu.engine.explain.sensitivity_search import sensitivity
from whichgpu.engine.explain.why import Explainer
from whichgpu.engine.records.reading import Saved, Standing


Whichgpu = Callable[..., Any]
EXAMPLES = Path(__file__).parents[3] / "examples"
STYLE = (Path(__file__).parents[3] / "cli" / "report" / "style.css").read_text()
VOID = {"meta", "line", "rect", "path", "circle", "br"}


class Page(HTMLParser):
    """The page read back: its tags balanced, its ids, links, headings and texts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.labels: list[str] = []
        self.headings: list[int] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[name] += 1
        if name not in VOID:
            self.open.append(name)
        self._note(name, attrs)

    def handle_startendtag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[name] += 1
        self._note(name, attrs)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def _note(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        if re.fullmatch(r"h[1-6]", name):
            self.headings.append(int(name[1]))
        for key, value in attrs:
            self.attributes.append((name, key, value or ""))
            if key == "id":
                self.ids.append(value or "")
            if key == "href" and (value or "").startswith("#"):
                self.anchors.append((value or "")[1:])
            if key == "aria-labelledby":
                self.labels += (value or "").split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


UNSIGNED = Standing("unsigned", "unsigned, checksum intact")


def page_of(decision: dict[str, Any], advisor: Advisor) -> str:
    names = names_of(advisor)
    explainer = Explainer(gather(decision), Phrases(advisor.vocabulary), names.gpus)
    return report_page(Saved("r.json", decision, UNSIGNED, "0" * 64), names, explainer, None, {})


@pytest.fixture(scope="session")
def advisor(loaded_once: Callable[..., Advisor]) -> Advisor:
    return loaded_once()


@pytest.fixture
def answer(whichgpu: Whichgpu) -> Callable[..., dict[str, Any]]:
    def decide(example: str, *more: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            whichgpu("recommend", str(EXAMPLES / f"{example}.yaml"), "--format", "json", *more).out
        )
        return found

    return decide


@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_every_example_makes_a_sound_page(
    answer: Callable[..., dict[str, Any]], advisor: Advisor, example: str
) -> None:
    decision = answer(example)
    page = Page(page_of(decision, advisor))
    assert len(page.ids) == len(set(page.ids))
    assert set(page.anchors) <= set(page.ids)
    assert set(page.labels) <= set(page.ids)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    charts = sum(1 for name, key, value in page.attributes if (name, key, value) == ("svg", "class", "chart"))
    assert charts >= 2
    assert page.tags["desc"] == charts
    for title in ("Memory", "Rent or buy", "Derivation", "Rejected GPUs", "Sources", "About this decision"):
        assert title in page.words
    for entry in decision["rejected"]:
        assert entry["reason"] in page.text
    for assumption in decision["assumptions"]:
        assert assumption["fact"] in page.text
    assert decision["rulebook"]["digest"] in page.text


def test_it_says_what_of_the_unstated_flips_the_answer(
    whichgpu: Whichgpu, answer: Callable[..., dict[str, Any]], advisor: Advisor, tmp_path: Path
) -> None:
    decision, page, phrases = answer("qlora-7b"), tmp_path / "r.html", Phrases(advisor.vocabulary)
    assert whichgpu("report", "-", "-o", str(page), stdin=json.dumps(decision)).code == 0
    text = Page(page.read_text()).text
    found = sensitivity(decision, advisor, limit=300, stated=False)
    assert "Not stated, and able to change it" in text
    assert found.turns
    assert all(phrases.label(turn.change.fact) in text for turn in found.turns)
    assert "today's rules and prices do not give this answer" in Page(page_of(decision, advisor)).text


def test_it_needs_neither_network_nor_scripts(answer: Callable[..., dict[str, Any]], advisor: Advisor) -> None:
    text = page_of(answer("llm-serving-70b"), advisor)
    page = Page(text)
    assert not {"script", "link", "iframe", "img", "object", "embed", "form"} & page.tags.keys()
    assert not [a for a in page.attributes if a[1].startswith("on") or a[1] in ("src", "style", "srcset")]
    assert "url(" not in text
    assert "@import" not in text
    assert any(key == "content" and value.startswith("default-src 'none'") for _, key, value in page.attributes)


def test_nothing_from_a_workload_becomes_markup(answer: Callable[..., dict[str, Any]], advisor: Advisor) -> None:
    decision = answer("llm-chat-8b", "--set", "gpu_candidates=h100, t4")
    evil = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x1b[31m"
    plain = Page(page_of(decision, advisor)).tags

    def poison(value: Any, keys: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return {key: poison(item, (*keys, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [poison(item, keys) for item in value]
        kept = {
            "verdict",
            "kind",
            "objective",
            "fired_by",
            "format",
            "says",
            "origin",
            "scope",
            "gpu",
            "family",
            "rule",
        }
        if isinstance(value, str) and not set(keys[-1:]) & kept:
            return evil + value
        return value

    poisoned = poison(copy.deepcopy(decision), ())
    text = page_of(poisoned, advisor)
    page = Page(text)
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert not {"script", "img"} & page.tags.keys()
    assert page.tags.keys() <= plain.keys() | {"a"}
    assert "alert(1)" in page.text


def test_a_decision_without_an_answer_has_a_page(whichgpu: Whichgpu, advisor: Advisor) -> None:
    ran = whichgpu("recommend", "-", "--format", "json", stdin="model_name: llama-3.1-8b\n")
    page = Page(page_of(json.loads(ran.out), advisor))
    assert page.headings.count(1) == 1
    assert "Open questions" in page.words


def test_charts_take_odd_figures() -> None:
    bars = [MemoryBar("a", (("weights_gb", 3.0),), 3.0, 2.0, 4.0, None), MemoryBar("b", (), 0.0, 0.0, 0.0, 80.0)]
    assert "3.0 GB of unknown" in memory_chart(bars, {"weights_gb": 0})
    assert "score" in waterfall([Award("cost", -3.0), Award("fit", 0.0)], -3.0)
    for crossing in (None, 0.0, 6.0, 500.0):
        chart = cost_chart(course_of(crossing))
        assert "nan" not in chart
        assert ("<circle" in chart) == (crossing == 6.0)
    assert "nan" not in cost_chart(Course(((0.0, 0.0, 0.0),), 12.0, 0.0, 0.0, None))


def course_of(crossing: float | None) -> Course:
    points = tuple((float(month), 1000.0 * month, 3000.0 + 500.0 * month) for month in range(0, 13, 3))
    return Course(points, 12.0, 12000.0, 9000.0, crossing)


def test_the_break_even_stands_where_the_lines_meet() -> None:
    chart = cost_chart(course_of(6.0))
    circle = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)"', chart)
    paths = [
        [tuple(map(float, point.split())) for point in path.split("L")]
        for path in re.findall(r'd="M([^"]+)" class="(?:rent|own)"', chart)
    ]
    assert circle
    x, y = float(circle[1]), float(circle[2])
    assert len(paths) == 2
    for path in paths:
        (x1, y1), (x2, y2) = next((one, two) for one, two in pairwise(path) if one[0] <= x <= two[0])
        assert y == pytest.approx(y1 + (y2 - y1) * (x - x1) / (x2 - x1), abs=0.3)
    assert "renting, solid: $12,000" in chart
    assert "owning, dashed: $9,000" in chart


def test_a_wide_table_is_shown_row_by_row_on_a_phone() -> None:
    headers = ("Plan", "An hour", "A month", "Speed", "What decided")
    wide = to_html([Table(headers, (("2 x L4", "$1", "$700", "fast", "price"),))])
    assert 'class="wide"' in wide
    assert '<td data-header="What decided">price</td>' in wide
    assert "data-header" not in to_html([Table(headers[:4], (("2 x L4", "$1", "$700", "fast"),))])


def test_small_pieces_of_markup() -> None:
    assert join("<b>", tag("i", "x")) == "&lt;b&gt;<i>x</i>"
    assert tag("p", class_="a", hidden=True, title=None) == '<p class="a" hidden></p>'
    assert linked("see https://a.example/x?y=1&z=2, then") == (
        'see <a href="https://a.example/x?y=1&amp;z=2" rel="noreferrer">https://a.example/x?y=1&amp;z=2</a>, then'
    )
    assert linked("javascript:alert(1)") == "javascript:alert(1)"
    assert (
        to_html([Verbatim("<x>"), Outline((Line(0, "y"),))]) == '<pre>&lt;x&gt;</pre><ul><li class="plain">y</li></ul>'
    )


def palettes() -> list[dict[str, str]]:
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
    return [dict(re.findall(r"--([\w]+): (#[0-9a-f]{6})", block)) for block in (light, dark)]


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
def test_contrast_is_enough(palette: dict[str, str]) -> None:
    """WCAG 2.2: 4.5 to 1 for text, 3 to 1 for what a chart draws."""
    for ground in ("paper", "panel"):
        for ink in ("ink", "soft", "link", "bad", "good"):
            assert contrast(palette[ink], palette[ground]) >= 4.5, (ink, ground)
        for drawn in ("part0", "part1", "part2", "part3", "part4", "part5", "strong"):
            assert contrast(palette[drawn], palette[ground]) >= 3, (drawn, ground)
