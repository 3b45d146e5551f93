"""Numbers as people write them: ``24 GB``, ``70b``, ``1,024``, ``$3k``, ``2 weeks``, ``80 %``, ``p95``."""

from __future__ import annotations

import math
import re

from whichgpu.engine.rules.facts.model import FactDef
from whichgpu.engine.rules.facts.units import COUNT, Unit, factor_of, is_known_unit


_WRITTEN = re.compile(
    r"\s*(?P<sign>[-+]?)\s*(?P<currency>\$?)\s*"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d[\d_]*(?:\.\d*)?|\.\d+)(?P<exponent>[eE][-+]?\d+)?"
    r"\s*(?P<suffix>[^\d\s].*?)?\s*\Z"
)
_PERIOD = re.compile(
    r"\s*(?:(?:/|\bper\b|\ban?\b|\beach\b|\bevery\b)\s*(?P<noun>h|hr|hour|day|week|wk|month|mo|year|yr)"
    r"|\b(?P<adverb>hour|dai|week|month|year|annual)ly)\s*\Z",
    re.IGNORECASE,
)
#: What a period is called, by how it begins; and the hours of those that are counted against each other.
_PERIODS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year", "a": "year"}
_HOURS = {"day": 24.0, "week": 168.0, "month": 730.0, "year": 8760.0}
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDED = re.compile(rf"\A\s*(?P<word>an?|{'|'.join(_COUNTED)})\b(?=\s|\Z)", re.IGNORECASE)
_PERCENTILE = re.compile(r"\A\s*[pP](?=\d)")
_LONGEST = 60
_LARGEST = 1e18  # No figure of this field comes near; it stands for "unlimited" where a fact states no maximum.


class Refused(Exception):  # noqa: N818  # Control flow: the coercion and the language make problems of it.
    """Why a raw value is no value of its fact."""

    def __init__(self, code: str, message: str, near: tuple[str, ...] = (), fix: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.near = near
        self.fix = fix


def read_number(fact: FactDef, raw: object) -> int | float:
    """The number in the fact's unit: an int for an int fact, a float for a number fact.

    Raises:
        Refused: not a number, not finite, a unit that does not fit, not whole, or outside the fact's range.
    """
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        shown = ("yes" if raw else "no") if isinstance(raw, bool) else str(raw)[:40]
        raise Refused("not-a-number", f"{shown} is not a number", fix=_example(fact))
    value = _of_text(raw, fact) if isinstance(raw, str) else raw
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("not-finite", f"{raw} is not a finite number", fix=_range_fix(fact))
    _check_bounds(fact, value, raw, exclusive=fact.exclusive_min)
    if fact.type != "int":
        return float(value) + 0.0  # Adding zero turns -0.0 into 0.0.
    whole = round(value)
    if abs(value - whole) > 1e-9 * max(1.0, abs(value)):
        fix = f"write {math.floor(value)} or {math.ceil(value)}"
        raise Refused("not-whole", f"{raw} is not a whole number", fix=fix)
    return whole


def in_digits(text: str, *, articles: bool = True) -> str:
    """A number in words at the beginning of a text, in digits: ``two weeks``, ``four``; with articles, ``a day``."""
    found = _WORDED.match(text)
    if found is None:
        return text
    word = found["word"].casefold()
    if word in {"a", "an"} and not articles:
        return text
    return f"{1 if word in {'a', 'an'} else 1 + _COUNTED.index(word)}{text[found.end() :]}"


def _of_text(text: str, fact: FactDef) -> int | float:
    """A number with what may stand beside it: of a figure that counts over a time, that time."""
    found = _PERIOD.search(text) if fact.per is not None else None
    if found is None:
        try:
            return _written(in_digits(text), fact.parsed_unit, fact)
        except Refused:
            return _written(text, fact.parsed_unit, fact)  # What is wrong is told of it as it is written.
    period = _PERIODS[(found["noun"] or found["adverb"])[0].casefold()]
    value = _written(in_digits(text[: found.start()]), fact.parsed_unit, fact)
    if period == fact.per:
        return value
    if period not in _HOURS or fact.per not in _HOURS:
        # Whoever pays by the hour does not say for how many.
        fix = f"write what it comes to in {'an' if fact.per == 'hour' else 'a'} {fact.per}"
        raise Refused("other-period", f"{text.strip()!r} is by the {period}, and the figure by the {fact.per}", fix=fix)
    return float(f"{value * _HOURS[fact.per] / _HOURS[period]:.12g}")


def read_literal(text: str, fact: FactDef | None = None, unit: Unit | None = None) -> int | float:
    """A number as a rule writes it, in the unit of ``fact`` (or in ``unit``), inside the fact's closed range.

    Raises:
        Refused: as ``read_number``, but a fraction beside an int fact and an excluded minimum are accepted,
            since a rule may compare with both.
    """
    value = _written(text, fact.parsed_unit if fact else unit, fact)
    if not math.isfinite(value):
        raise Refused("not-finite", f"{text} is not a finite number")
    if fact is not None:
        _check_bounds(fact, value, text, exclusive=False)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _written(text: str, unit: Unit | None, fact: FactDef | None) -> int | float:
    # A percentile is written p95 by those who work with it.
    plain = _PERCENTILE.sub("", text) if unit is not None and unit.dimension == "share" else text
    match = _WRITTEN.match(plain) if len(text) <= _LONGEST else None
    if match is None:
        raise Refused("not-a-number", f"{text[:40]!r} is not a number", fix=_example(fact))
    digits = match["digits"].replace(",", "").replace("_", "")
    sign = -1 if match["sign"] == "-" else 1
    whole = not match["exponent"] and "." not in digits
    number = sign * (int(digits) if whole else float(digits + (match["exponent"] or "")))
    suffix = match["suffix"] or ""
    shown = _unit(fact, unit)
    if match["currency"] and (unit is None or not unit.dimension.startswith("money")):
        raise Refused("wrong-unit", f"{text!r} is money, but the figure is in {shown}", fix=_example(fact))
    if not suffix:
        return number
    factor = _factor(suffix, unit, currency=bool(match["currency"]))
    if factor is None:
        if re.match(r",\d", suffix):
            fix = f"write {text.replace(',', '.', 1)}, with a point"
            raise Refused("not-a-number", f"{text!r} is not a number", fix=fix)
        wrong = "is not in" if is_known_unit(suffix) else "has an unknown unit; the figure is in"
        raise Refused("wrong-unit", f"{text.strip()!r} {wrong} {shown}", fix=_example(fact))
    return number if factor == 1.0 else float(f"{number * factor:.12g}")


def _factor(suffix: str, unit: Unit | None, *, currency: bool) -> float | None:
    written = suffix.removesuffix(".")
    factor = factor_of(written, unit)
    if factor is None and currency:
        factor = factor_of(f"usd{written}" if written.startswith("/") else f"{written} usd", unit)
    return factor


def _check_bounds(fact: FactDef, value: float, raw: object, *, exclusive: bool) -> None:
    low = -_LARGEST if fact.min is None else fact.min
    if value < max(low, -_LARGEST) or (exclusive and value == fact.min):
        raise Refused("out-of-range", f"{raw} is too small", fix=_range_fix(fact))
    if value > (_LARGEST if fact.max is None else fact.max):
        raise Refused("out-of-range", f"{raw} is too large", fix=_range_fix(fact))


def _range_fix(fact: FactDef) -> str:
    unit = f" {fact.unit}" if fact.unit else ""
    low = None if fact.min is None else f"{'more than' if fact.exclusive_min else 'at least'} {_short(fact.min)}"
    high = None if fact.max is None else f"at most {_short(fact.max)}"
    bounds = " and ".join(bound for bound in (low, high) if bound)
    return f"write a number of {bounds}{unit}" if bounds else f"write a plain number{unit and ' in' + unit}"


def _example(fact: FactDef | None) -> str | None:
    if fact is None:
        return None
    bounds = _range_fix(fact)
    sample = max(16.0, 16.0 if fact.min is None else fact.min)
    sample = min(sample, sample if fact.max is None else fact.max)
    if fact.unit is None:
        return bounds
    span = " or '2 days'" if fact.unit == "h" else ""
    return f"{bounds}, such as '{_short(sample)} {fact.unit}'{span}"


def _unit(fact: FactDef | None, unit: Unit | None) -> str:
    if fact is not None and fact.unit:
        return fact.unit
    return unit.dimension.removeprefix(COUNT) if unit else "a plain number"


def _short(number: float) -> str:
    if number == int(number):
        return f"{number:,.0f}"
    return f"{number:.10f}".rstrip("0") if abs(number) < 1e-3 else f"{number:g}"
