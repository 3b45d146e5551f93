from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, strategies as st

from whichgpu.cli.render.blocks import Bar, Block, Bullets, Heading, Item, Pairs, Paragraph, Table, Verbatim
from whichgpu.cli.render.markdown import to_markdown
from whichgpu.cli.render.screen import Screen, screen_of
from whichgpu.cli.render.text import to_text


TABLE = Table(("Plan", "Speed"), (("2 x NVIDIA L4", "1,850 tokens/s"), ("H200", "9")), frozenset({1}))
PAGE: list[Block] = [
    Heading("Title", 1),
    Paragraph("Strong words.", "strong"),
    Bar(0.5, "50 % used"),
    Bullets((Item("one", ("below",), "bad"), Item("two"))),
    TABLE,
    Pairs((("speed", "fast"), ("cost", "low"))),
    Verbatim("  keep   this"),
]


class FakeTerminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_text_is_aligned() -> None:
    assert to_text([TABLE], Screen()).splitlines() == [
        "Plan                    Speed",
        "-------------  --------------",
        "2 x NVIDIA L4  1,850 tokens/s",
        "H200                        9",
    ]


def test_a_table_too_wide_shrinks_its_widest_column() -> None:
    table = Table(("A", "B"), (("word " * 20, "1"),))
    lines = to_text([table], Screen(width=40)).splitlines()
    assert max(map(len, lines)) <= 40
    assert sum(line.count("word") for line in lines) == 20


def test_a_table_that_cannot_shrink_becomes_records() -> None:
    lines = to_text([Table(("Plan", "Speed", "Note"), (("x" * 30, "y" * 30, ""),))], Screen(width=40)).splitlines()
    assert lines == ["x" * 30, f"  Speed: {'y' * 30}"]


def test_markdown_says_the_same() -> None:
    text, markdown = to_text(PAGE, Screen()), to_markdown(PAGE)
    for word in re.findall(r"[A-Za-z0-9]+", text):
        assert word in markdown
    assert "| Plan | Speed |\n| --- | ---: |" in markdown
    assert markdown.startswith("# Title\n\n**Strong words.**")
    assert "- one\n  - below\n- two" in markdown
    assert "```\n  keep   this\n```" in markdown


def test_markdown_escapes_what_would_be_markup() -> None:
    assert to_markdown([Paragraph("a|b *c* <d> `e` [f] g_h")]) == r"a\|b \*c\* \<d\> \`e\` \[f\] g_h" + "\n"
    assert to_markdown([Verbatim("a ``` b")]).startswith("````\n")


def test_colour_only_decorates() -> None:
    coloured = to_text(PAGE, Screen(colour=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == to_text(PAGE, Screen())


def test_block_characters_only_decorate() -> None:
    assert "█" in to_text(PAGE, Screen(blocks=True))
    to_text(PAGE, Screen()).encode("ascii")


@given(st.floats(min_value=-1, max_value=5), st.sampled_from([40, 60, 100]))
def test_a_bar_never_breaks_out(share: float, width: int) -> None:
    first = to_text([Bar(share, "full")], Screen(width=width)).splitlines()[0]
    assert len(first) <= width
    assert first.count("#") + first.count(".") == 30


@given(st.text(max_size=200), st.integers(40, 120))
def test_nothing_in_a_text_reaches_the_terminal_as_a_command(words: str, width: int) -> None:
    page: list[Block] = [Heading(words), Paragraph(words), Bullets((Item(words, (words,)),)), Verbatim(words)]
    for shown in (to_text(page, Screen(width=width)), to_markdown(page)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


def test_long_labels_and_narrow_screens_keep_everything() -> None:
    pairs = Pairs((("a label of some length, more than usual", "value"),))
    assert "value" in to_text([pairs], Screen(width=40))


@pytest.mark.parametrize(
    ("environment", "colour", "blocks"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False, True),
    ],
)
def test_a_terminal_is_taken_at_its_word(environment: dict[str, str], colour: bool, blocks: bool) -> None:
    screen = screen_of(FakeTerminal(), environment)
    assert (screen.colour, screen.blocks) == (colour, blocks)


def test_a_pipe_is_plain_and_a_hundred_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert screen_of(io.StringIO(), {"TERM": "xterm"}) == Screen(100, colour=False, blocks=False)
    assert screen_of(FakeTerminal(), {"TERM": "xterm"}).width == 60
    monkeypatch.setenv("COLUMNS", "7")
    assert screen_of(FakeTerminal(), {"TERM": "xterm"}).width == 40
