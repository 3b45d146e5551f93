"""The index of decisions lists every page once and names the later pages that amend or continue it."""

from __future__ import annotations

import re
from pathlib import Path


DECISIONS = Path(__file__).parents[1] / "docs" / "decisions"
INDEX = DECISIONS / "README.md"
ROW = re.compile(r"^\| \[(\d{4})\]\(([^)]+)\) \| [^|]+ \|(?: ([^|]+))? \|$", re.MULTILINE)
LINK = re.compile(r"\[(\d{4})\]\([^)]*\)")
#: Said of an earlier page at the head of a page: "Amends 0009 and 0062", "Goes on from 0067".
RELATION = re.compile(r"\b(amends|extends|goes on from|follows)\b([^.;:]*)", re.IGNORECASE)
SAID = {"amends": "amended by", "extends": "amended by", "goes on from": "continued by", "follows": "continued by"}
HEAD_LINES = 6


def later_pages() -> dict[str, str]:
    """By number of a decision what its row says of later pages: ``amended by 0057, 0062; continued by 0190``."""
    later: dict[str, dict[str, list[str]]] = {page.name[:4]: {} for page in sorted(DECISIONS.glob("[0-9]*.md"))}
    for page in sorted(DECISIONS.glob("[0-9]*.md")):
        head = "\n".join(page.read_text(encoding="utf-8").splitlines()[:HEAD_LINES])
        for verb, objects in RELATION.findall(LINK.sub(r"\1", head)):
            for earlier in re.findall(r"\b0\d{3}\b", objects):
                later[earlier].setdefault(SAID[verb.lower()], []).append(page.name[:4])
    return {
        number: "; ".join(f"{how} {', '.join(pages)}" for how, pages in sorted(said.items()))
        for number, said in later.items()
    }


def test_every_decision_has_one_row() -> None:
    listed = [link for _, link, _ in ROW.findall(INDEX.read_text(encoding="utf-8"))]
    assert sorted(listed) == sorted(page.name for page in DECISIONS.glob("[0-9]*.md"))


def test_rows_name_the_later_pages() -> None:
    rows = {number: said for number, _, said in ROW.findall(INDEX.read_text(encoding="utf-8"))}
    expected = later_pages()
    assert any("amended by" in said for said in expected.values())
    wrong = {number: said for number, said in expected.items() if rows.get(number) != said}
    assert not wrong, "the right column should say"
