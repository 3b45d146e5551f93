"""Price snapshots: CSV text to offers, every error with its line and column. docs/prices.md describes the format."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from itertools import takewhile
from typing import Any

from whichgpu.engine.catalogue.model import Offer
from whichgpu.engine.core import (
    FrozenModel,
    KnowledgeError,
    Place,
    Problem,
    WhichgpuError,
    nearest_words,
    read_constants,
)


COLUMNS = tuple(name for name in Offer.__struct_fields__ if name not in {"spot_only", "own"})
PROVIDER_CLASSES = ("hyperscaler", "neocloud", "serverless", "marketplace", "managed")
_REQUIRED = ("provider", "provider_class", "gpu", "count", "as_of", "source")
_NUMBER = re.compile(r"\d+(\.\d+)?([eE][-+]?\d+)?\Z|\.\d+\Z")
_MOST_USD = 1e6
_MOST_COUNT = 100_000
_MOST_DAYS = 2000
_MOST_PROBLEMS = 40

#: What a GPU name in a price list means: an id or a family, or None; and what it may have meant.
Resolve = Callable[[str], tuple[str | None, tuple[str, ...]]]


class FeedProvider(FrozenModel):
    """How a list of prices that others keep names a provider here."""

    name: str
    provider_class: str


class PriceFeedsFile(FrozenModel):
    """Everything in ``knowledge/price_feeds.yaml``."""

    providers: dict[str, FeedProvider]
    class_of_others: str
    least_share_of_known: float
    sources: tuple[str, ...]


@cache
def price_feeds() -> PriceFeedsFile:
    """How feeds name providers. Raises KnowledgeError."""
    return read_constants(PriceFeedsFile, "price_feeds.yaml")


@dataclass(slots=True)
class _Row:
    """One line of the file as it is read: fields by column, and the problems found in it."""

    name: str
    number: int
    text: str
    fields: dict[str, str]
    problems: list[Problem] = field(default_factory=list)

    def blame(self, column: str, code: str, message: str, near: tuple[str, ...] = (), fix: str | None = None) -> None:
        """Note a problem at a column's field."""
        start = 0
        for earlier in takewhile(lambda name: name != column, self.fields if column in self.fields else ()):
            start = max(0, self.text.find(self.fields[earlier], start)) + len(self.fields[earlier])
            start = self.text.find(",", start) + 1
        value = self.fields.get(column, "")
        found = self.text.find(value, start) if value else start
        place = Place(self.name, self.number, max(0, found) + 1, max(1, len(value)), self.text)
        self.problems.append(Problem(code, message, place, nearest=near, fix=fix))

    def price(self, column: str) -> float | None:
        """A price in US dollars per hour, or None where the field is empty."""
        text = self.fields.get(column, "")
        if not text:
            return None
        if not _NUMBER.match(text):
            self.blame(column, "not-a-price", f"{column} is {text!r}, not a number", fix="write US dollars, as 12.5")
            return None
        value = float(text)
        if not 0 < value < _MOST_USD:
            self.blame(column, "price-out-of-range", f"{column} is {text}; prices lie between 0 and {_MOST_USD:,.0f}")
            return None
        return value


def parse_prices(
    text: str, name: str, *, resolve: Resolve | None = None, error: type[WhichgpuError] = KnowledgeError
) -> tuple[Offer, ...]:
    """Read a price list.

    Args:
        text: the CSV text; its first line names the columns, in any order.
        name: what places call the file.
        resolve: maps a GPU name to an id or family of the catalogue; names are taken as they are without it.
        error: the class of errors raised.

    Returns:
        The offers, sorted, without duplicates. Prices are US dollars per hour for the whole instance.

    Raises:
        WhichgpuError: of class ``error``, with every problem of the file (at most forty).
    """
    import csv  # noqa: PLC0415  # Prices that are kept between runs are not read.

    lines = text.removeprefix("\ufeff").splitlines()
    columns = [column.strip() for column in next(csv.reader(lines[:1]), [])]
    problems = _header_problems(name, lines[0] if lines else "", columns)
    if problems:
        raise error(problems)
    offers: set[Offer] = set()
    reader = csv.reader(io.StringIO("\n".join(lines[1:])))
    for fields in reader:
        if not any(field.strip() for field in fields):
            continue
        number = reader.line_num + 1
        row = _Row(name, number, lines[number - 1], dict(zip(columns, map(str.strip, fields), strict=False)))
        if len(fields) != len(columns):
            row.blame(
                "", "wrong-field-count", f"{len(fields)} fields where the first line names {len(columns)} columns"
            )
        elif offer := _offer(row, resolve):
            offers.add(offer)
        problems += row.problems
        if len(problems) >= _MOST_PROBLEMS:
            break
    if problems:
        raise error(problems[:_MOST_PROBLEMS])
    return tuple(sorted(offers, key=offer_order))


def offer_order(offer: Offer) -> tuple[str, str, str, int, str, float, str]:
    """A total order over offers that does not depend on the file."""
    return (
        offer.provider,
        offer.instance or "",
        offer.gpu,
        offer.count,
        offer.region or "",
        offer.usd_per_hour,
        offer.as_of,
    )


def merged(older: Iterable[Offer], newer: Iterable[Offer]) -> tuple[Offer, ...]:
    """All offers, with those of ``newer`` in place of the older ones for the same shape.

    A shape is provider, instance, GPU, count and region, and whether it can only be had interruptibly.
    """
    newer = tuple(newer)
    replaced = {_shape(offer) for offer in newer}
    kept = (offer for offer in older if _shape(offer) not in replaced)
    return tuple(sorted((*kept, *newer), key=offer_order))


def _shape(offer: Offer) -> tuple[object, ...]:
    return (offer.provider, offer.instance, offer.gpu, offer.count, offer.region, offer.spot_only)


def _header_problems(name: str, line: str, columns: list[str]) -> list[Problem]:
    if not line.strip():
        return [Problem("empty-file", f"{name} is empty", fix=f"its first line names the columns: {','.join(COLUMNS)}")]
    problems = []
    for column in columns:
        if column not in COLUMNS:
            place = Place(name, 1, line.find(column) + 1, max(1, len(column)), line)
            near = nearest_words(column, COLUMNS)
            problems.append(Problem("unknown-column", f"the column {column!r} is not known", place, nearest=near))
        elif columns.count(column) > 1:
            place = Place(name, 1, line.rfind(column) + 1, len(column), line)
            problems.append(Problem("duplicate-column", f"the column {column!r} occurs twice", place))
    missing = [column for column in (*_REQUIRED, "usd_per_hour") if column not in columns]
    if missing:
        place = Place(name, 1, 1, len(line), line)
        problems.append(Problem("missing-column", f"columns are missing: {', '.join(missing)}", place))
    return problems


def _offer(row: _Row, resolve: Resolve | None) -> Offer | None:
    fields = row.fields
    for column in _REQUIRED:
        if not fields[column]:
            row.blame(column, "empty-field", f"{column} is empty")
    if fields["provider_class"] and fields["provider_class"] not in PROVIDER_CLASSES:
        near = nearest_words(fields["provider_class"], PROVIDER_CLASSES)
        known = f"one of {', '.join(PROVIDER_CLASSES)}"
        row.blame("provider_class", "unknown-provider-class", f"{fields['provider_class']!r} is not known", near, known)
    gpu = _gpu(row, resolve)
    count, quota = _count(row, "count") or 1, _count(row, "quota_gpus")
    lead_time = _days(row)
    prices = {column: row.price(column) for column in COLUMNS if column.endswith("usd_per_hour")}
    firm, spot = prices["usd_per_hour"], prices["spot_usd_per_hour"]
    if firm is None and spot is None and not row.problems:
        row.blame("usd_per_hour", "no-price", "the row has neither a price nor a spot price")
    day = fields["as_of"]
    if day and not _is_day(day):
        row.blame("as_of", "not-a-date", f"as_of is {day!r}, not a date", fix="write it as 2026-07-30")
    if row.problems or gpu is None:
        return None
    stated: dict[str, Any] = {column: fields.get(column) or None for column in COLUMNS}
    stated |= prices | {"gpu": gpu, "count": count, "usd_per_hour": spot if firm is None else firm}
    stated |= {"quota_gpus": quota, "lead_time_days": lead_time}
    return Offer(**stated, spot_only=firm is None)


def _gpu(row: _Row, resolve: Resolve | None) -> str | None:
    name = row.fields["gpu"]
    if not name or resolve is None:
        return name or None
    found, near = resolve(name)
    if found is None:
        row.blame(
            "gpu", "unknown-gpu", f"no accelerator is called {name!r}", near, "use an id or family of the catalogue"
        )
    return found


def _count(row: _Row, column: str) -> int | None:
    text = row.fields.get(column, "")
    if text and not (text.isdecimal() and text.isascii() and 1 <= int(text[:9]) <= _MOST_COUNT):
        fix = "leave fractions of a GPU out"
        row.blame(column, "not-a-count", f"{column} is {text!r}, not a whole number of GPUs from 1", fix=fix)
        return None
    return int(text) if text else None


def _days(row: _Row) -> float | None:
    text = row.fields.get("lead_time_days", "")
    if text and not (_NUMBER.match(text) and float(text) <= _MOST_DAYS):
        fix = f"write days, from 0 to {_MOST_DAYS:,}"
        row.blame("lead_time_days", "not-days", f"lead_time_days is {text!r}, not a number of days", fix=fix)
        return None
    return float(text) if text else None


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
