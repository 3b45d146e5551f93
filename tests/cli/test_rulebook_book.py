"""The rulebook as a book: docs/rulebook is fresh, names every rule, and its links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.cli.advisor import names_of
from whichgpu.cli.commands.rules_docs import intros
from whichgpu.cli.render.book import MADE, anchor, book
from whichgpu.engine.advisor.advisor import load_advisor


ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "rulebook"
LINK = re.compile(r"\]\(([\w.-]+\.md)(?:#([\w./-]+))?\)")


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    """With the tests of the rules, which the book shows and deciding does not load."""
    return load_advisor()


@pytest.fixture(scope="module")
def pages(advisor: Advisor) -> dict[str, str]:
    return book(advisor, names_of(advisor), intros([ROOT / "rules"]))


def test_the_committed_book_is_fresh(pages: dict[str, str]) -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    stale = [name for name in sorted({*pages, *committed}) if pages.get(name) != committed.get(name)]
    assert not stale, "run: whichgpu rules docs"


def test_every_rule_is_in_the_book(pages: dict[str, str], advisor: Advisor) -> None:
    for rule in advisor.rulebook.rules:
        page = pages[f"{rule.topic}.md"]
        assert f"## {rule.table or rule.id}\n" in page
        if rule.table:
            assert f"| {rule.id.partition('/')[2]} |" in page


def test_links_lead_somewhere(pages: dict[str, str]) -> None:
    anchors = {
        name: {anchor(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
        for name, text in pages.items()
    }
    for name, text in pages.items():
        for page, target in LINK.findall(text):
            assert page in pages, f"{name} -> {page}"
            assert not target or target in anchors[page], f"{name} -> {page}#{target}"


def test_pages_come_and_go_with_topics(whichgpu: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "book"
    assert whichgpu("rules", "docs", str(folder)).code == 0
    assert whichgpu("rules", "docs", str(folder), "--check").code == 0
    (folder / "gone.md").write_text(f"{MADE}\nold")
    (folder / "limits.md").write_text(f"{MADE}\nchanged")
    (folder / "ours.md").write_text("ours")
    ran = whichgpu("rules", "docs", str(folder), "--check")
    assert ran.code == 1
    assert ran.out.count("is not as the rules say") == 2
    assert "2 of them changed" in whichgpu("rules", "docs", str(folder)).out
    assert not (folder / "gone.md").exists()
    assert (folder / "ours.md").read_text() == "ours"


def test_no_page_is_written_over_what_is_none(whichgpu: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("ours")
    ran = whichgpu("rules", "docs", str(tmp_path))
    assert ran.code == 2
    assert f"{tmp_path / 'README.md'} is no page of the rulebook" in ran.err
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("README.md", "ours")]
