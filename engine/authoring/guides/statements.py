"""What the heuristics of the guides state: where each stands, its numbers, and the words that it speaks in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from whichgpu.engine.authoring.guides.guides import catalogue_of
from whichgpu.engine.authoring.lint.finding import StatedNumber, Statement
from whichgpu.engine.authoring.lint.heuristic_limits import stated_calls, stated_limits
from whichgpu.engine.authoring.lint.wording import words_of
from whichgpu.engine.catalogue import SourceRecord


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e\d+)?")
_NAME = re.compile(r"[a-z][a-z_.0-9]*")
_FIGURE = re.compile(r"^(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>%|[A-Za-z/]+)")
_LIMIT = re.compile(r"(?P<fact>[a-z][a-z_.0-9]*)\s*(?:[<>=]=?|in)\s*(?P<numbers>[\[{]?\d[\d., e]*)")


def statements(*folders: Path) -> dict[str, Statement]:
    """The heuristics in ``heuristics.yaml`` of knowledge folders, by id. Raises KnowledgeError."""
    return {entry["id"]: _statement(entry) for entry in catalogue_of(*folders)}


def sections(heuristics: Iterable[Statement], sources: Mapping[str, SourceRecord]) -> dict[str, frozenset[str]]:
    """By source the titles of its sections: those that it lists, and those that heuristics were read in."""
    found: dict[str, set[str]] = {name: set(source.sections) for name, source in sources.items() if source.sections}
    for heuristic in heuristics:
        if heuristic.section:
            found.setdefault(heuristic.guide, set()).add(heuristic.section)
    return {name: frozenset(titles) for name, titles in found.items()}


def _statement(entry: Mapping[str, object]) -> Statement:
    condition = entry.get("condition")
    read_as = condition if isinstance(condition, Mapping) else {}
    expr = str(read_as.get("expr", ""))
    said = (entry.get("paraphrase", ""), entry.get("conclusion", ""), read_as.get("words", ""), expr)
    disputes = _listed(entry, "conflicts")
    return Statement(
        str(entry.get("guide", "")),
        str(entry.get("section", "")),
        frozenset((*_figures(_listed(entry, "numbers")), *_limits(expr))),
        words_of(*map(str, (*said, *disputes))),
        frozenset(_NAME.findall(expr)),
        " ".join(map(str, (*said, *_listed(entry, "numbers")))),
        stated_limits(expr),
        stated_calls(expr),
        tuple(map(str, disputes)),
    )


def _listed(entry: Mapping[str, object], key: str) -> list[object]:
    found = entry.get(key)
    return found if isinstance(found, list) else []


def _figures(texts: Iterable[object]) -> Iterator[StatedNumber]:
    """``24 GB`` and the like, as the catalogue lists them."""
    for text in texts:
        match = _FIGURE.match(str(text))
        if match:
            yield StatedNumber(match["unit"], float(match["number"].replace(",", "")))


def _limits(expr: str) -> Iterator[StatedNumber]:
    """What the catalogue's reading aid holds a fact against: ``param_count_b <= 7``, ``num_gpus in [16, 64]``."""
    for match in _LIMIT.finditer(expr):
        for number in _NUMBER.findall(match["numbers"]):
            yield StatedNumber(match["fact"], float(number))
