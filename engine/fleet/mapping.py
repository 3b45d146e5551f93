"""How the columns of jobs become facts: a small YAML that names, for each fact, the column and what is done to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from math import floor, isfinite, isnan, log10
from pathlib import Path
from typing import Any

from msgspec import field

from whichgpu.engine.core import (
    FrozenModel,
    InputError,
    Node,
    Problem,
    RecordError,
    digest,
    key_place,
    nearest_words,
    read_document,
    record_of,
)
from whichgpu.engine.fleet.columns import Coded, groups_of
from whichgpu.engine.rules import Vocabulary


#: What the jobs say of the hardware that they ran on.
THEN = ("gpu", "count", "hours", "usd", "usd_per_hour")


class Bad(FrozenModel):
    """A cell that cannot be read, in place of its value."""

    problem: Problem


class Taken(FrozenModel):
    """Where a value comes from: a constant, or a column and the steps that are made, in this order.

    ``match`` keeps the first group of a regular expression; ``like`` gives the value of the first expression that is
    found; ``words`` replaces whole words, with null for unknown; ``minus``, ``times`` and ``per`` name a second column
    (``minus`` also subtracts times, in seconds); ``scale`` multiplies; a number outside ``between`` is unknown;
    ``round`` keeps so many significant digits; ``unit`` is what the number is in; ``otherwise`` is the value where the
    steps find none.
    """

    column: str | None = None
    value: str | int | float | bool | None = None
    match: str | None = None
    like: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    words: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    minus: str | None = None
    times: str | None = None
    per: str | None = None
    scale: float | None = None
    between: tuple[float, float] | None = None
    round: int | None = None
    unit: str | None = None
    otherwise: str | int | float | bool | None = None

    def __post_init__(self) -> None:
        """Refuses what has no source, and expressions that are none."""
        if (self.column is None) == (self.value is None):
            raise ValueError("say either 'column' or 'value'")
        if self.round is not None and self.round < 1:
            raise ValueError("'round' is a number of significant digits, at least 1")
        for text in (self.match, *self.like):
            try:
                re.compile(text or "")
            except re.error as error:
                raise ValueError(f"{text!r} is no regular expression: {error}") from None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(name for name in (self.column, self.minus, self.times, self.per) if name is not None)

    @property
    def counts(self) -> bool:
        """Whether it computes with numbers."""
        return any(
            step is not None for step in (self.minus, self.times, self.per, self.scale, self.between, self.round)
        )

    def of(self, columns: Mapping[str, Coded], rows: int) -> Coded:
        """The values of a batch, ``Bad`` where a cell cannot be read."""
        if self.column is None:
            return Coded.constant(self.value, rows)
        nothing = Coded.constant(None, rows)
        read = [columns.get(name, nothing) for name in self.columns]
        codes, first = groups_of(read, rows)
        cells = zip(*([column.values[code] for code in column.codes[first].tolist()] for column in read), strict=True)
        made = Coded.of([self.value_of(*cell) for cell in cells])
        return Coded(made.codes[codes], made.values)

    def value_of(self, cell: Any, *others: Any) -> Any:
        """What the cells of one row come to; None where they say nothing."""
        value = self._found(cell, others)
        return self.otherwise if value is None else value

    def _found(self, cell: Any, others: tuple[Any, ...]) -> Any:
        value = self._word(cell)
        if value is None or value == "":
            return None
        if self.counts:
            try:
                value = self._number(value, others)
            except (ValueError, TypeError, OverflowError):
                column = ", ".join(self.columns)
                return Bad(problem=Problem("not-a-number", f"column {column}: {cell!r} is not a number", fact=column))
        return value if self.unit is None or value is None else f"{value} {self.unit}"

    def _word(self, cell: Any) -> Any:
        if cell is None or cell == "" or (isinstance(cell, float) and isnan(cell)):
            return None
        text = cell if isinstance(cell, str) else str(cell)
        if self.match is not None:
            found = re.search(self.match, text)
            if found is None:
                return None
            cell = text = found[1] if found.re.groups else found[0]
        if self.like:
            cell = next((value for pattern, value in self.like.items() if re.search(pattern, text)), None)
            text = str(cell)
        return self.words.get(text, cell) if self.words else cell

    def _number(self, value: Any, others: tuple[Any, ...]) -> float | int | None:
        steps = [name for name in ("minus", "times", "per") if getattr(self, name) is not None]
        if any(other is None or other == "" for other in others):
            return None
        beside = dict(zip(steps, others, strict=True))
        number = _seconds(value) - _seconds(beside["minus"]) if "minus" in beside else float(value)
        number *= float(beside.get("times", 1))
        if "per" in beside:
            number = number / float(beside["per"]) if float(beside["per"]) else float("nan")
        number *= 1 if self.scale is None else self.scale
        if not isfinite(number) or (self.between and not self.between[0] <= number <= self.between[1]):
            return None
        if self.round is not None and number:
            number = round(number, self.round - 1 - floor(log10(abs(number))))
        return int(number) if number == int(number) else number


class MapFile(FrozenModel):
    """A file of ``--map``."""

    facts: dict[str, str | Taken] = field(default_factory=dict)
    facts_json: str | None = None  # a column that holds facts as a JSON object
    then: dict[str, str | Taken] = field(default_factory=dict)
    id: str | None = None
    team: str | None = None
    keep: tuple[str, ...] = ()
    delimiter: str | None = None  # of CSV
    header: tuple[str, ...] = ()  # of CSV that has none


class JobMap(FrozenModel):
    """What each column of the jobs means."""

    facts: dict[str, Taken]
    then: dict[str, Taken]
    facts_json: str | None = None
    id: str | None = None
    team: str | None = None
    keep: tuple[str, ...] = ()
    delimiter: str | None = None
    header: tuple[str, ...] = ()
    every_column: bool = False  # no map was given: each column is the fact of its name

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that are read; None for all."""
        if self.every_column:
            return None
        names = [name for taken in (*self.facts.values(), *self.then.values()) for name in taken.columns]
        own = [name for name in (self.id, self.team, self.facts_json, *self.keep) if name is not None]
        return tuple(dict.fromkeys([*names, *own]))

    @property
    def digest(self) -> str:
        """SHA-256 over what it says."""
        return digest({name: _plain(getattr(self, name)) for name in self.__struct_fields__})

    @property
    def rounding(self) -> dict[str, int]:
        """The facts that are rounded, each to so many significant digits."""
        return {name: taken.round for name, taken in self.facts.items() if taken.round is not None}

    def facts_of(self, columns: Mapping[str, Coded], rows: int) -> dict[str, Coded]:
        """The facts of a batch as they are written, by name."""
        if not self.every_column:
            return {name: taken.of(columns, rows) for name, taken in self.facts.items()}
        return {name: column for name, column in columns.items() if name not in {"id", "team"}}

    def then_of(self, columns: Mapping[str, Coded], rows: int) -> dict[str, Coded]:
        """What the jobs say of the hardware that they ran on."""
        return {name: taken.of(columns, rows) for name, taken in self.then.items()}


#: Without ``--map`` a job is a workload: each column is the fact of its name.
AS_WORKLOADS = JobMap(facts={}, then={}, id="id", team="team", every_column=True)


def map_of_result(keep: tuple[str, ...]) -> JobMap:
    """What the columns of an earlier result mean, so that its jobs can be decided again. Cost then stays as it was."""
    then = {"gpu": "then_gpu", "count": "then_count", "hours": "then_hours", "usd": "then_usd"}
    return JobMap(facts={}, then=_taken(then), facts_json="facts", id="id", team="team", keep=keep)


def read_map(path: Path, vocabulary: Vocabulary) -> JobMap:
    """The map in a file.

    Raises:
        InputError: with every problem at its place.
    """
    document = read_document(path, error=InputError)
    try:
        read = record_of(MapFile, document.plain)
    except RecordError as broken:
        raise InputError(
            broken.problems(document.node, known=(*MapFile.__struct_fields__, *Taken.__struct_fields__))
        ) from broken
    problems = [*_wrong_names(document.node, read.facts, vocabulary), *_wrong_parts(document.node, read.then)]
    if not read.facts and read.facts_json is None:
        problems.append(Problem("no-facts", "the map gives no fact of a job", fix="write 'facts:' with at least task"))
    if problems:
        raise InputError(problems)
    shared = {name: getattr(read, name) for name in ("facts_json", "id", "team", "keep", "delimiter", "header")}
    return JobMap(facts=_taken(read.facts), then=_taken(read.then), **shared)


def _taken(entries: Mapping[str, str | Taken]) -> dict[str, Taken]:
    return {name: Taken(column=entry) if isinstance(entry, str) else entry for name, entry in entries.items()}


def _wrong_names(node: Node, names: Iterable[str], vocabulary: Vocabulary) -> Iterator[Problem]:
    for name in names:
        fact = vocabulary.fact(name)
        if fact is None or fact.scope != "workload" or fact.role == "output":
            message, place = f"facts: {name!r} is no fact of a workload", key_place(node, ("facts", name))
            yield Problem("unknown-fact", message, place, name, vocabulary.nearest(name), "see: whichgpu facts")


def _wrong_parts(node: Node, names: Iterable[str]) -> Iterator[Problem]:
    for name in names:
        if name not in THEN:
            message, place = f"then: there is no {name!r}", key_place(node, ("then", name))
            yield Problem(
                "unknown-key", message, place, name, nearest_words(name, THEN), f"write one of {', '.join(THEN)}"
            )


def _seconds(value: Any) -> float:
    """A number, or a time as seconds."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        return float(value)
    except ValueError:
        return _seconds(datetime.fromisoformat(str(value)))


def _plain(value: Any) -> Any:
    if isinstance(value, Taken):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value
