"""Values in plain words, and texts with ``{fact}`` in them, filled in."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.rules.facts import FactDef, Vocabulary, gpu_and_count


SIGNIFICANT_DIGITS = 6
_LONGEST_LABEL = 3  # Words; a longer label explains a choice, and does not name it.
_LONG_MS = 10_000  # from here on a time is said in seconds
_SPELT_OUT = {"B": "billion", "h": "hours", "billions": "billion"}


def format_value(fact: FactDef | None, value: Value | None, *, digits: int = SIGNIFICANT_DIGITS) -> str:
    """A fact's value for a person: ``24 GB``, ``70 billion``, ``$2.50/h`` as ``$2.5/h``, ``yes``, a choice's label.

    Without a fact a bare value: no unit, no label.
    """
    if value is None:
        return "unknown"
    if isinstance(value, tuple):
        return ", ".join(_item(fact, item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _choice(fact, value)
    if fact is not None and fact.unit == "ms" and abs(value) >= _LONG_MS:
        return f"{format_number(value / 1000, digits=digits)} s"
    is_year = fact is not None and fact.name.endswith("_year") and not fact.name.endswith("_per_year")
    return _with_unit(format_number(value, grouped=not is_year, digits=digits), value, fact.unit if fact else None)


def format_number(value: float, *, grouped: bool = True, digits: int = SIGNIFICANT_DIGITS) -> str:
    """A number with at most ``digits`` significant digits (whole numbers in full), never an exponent."""
    if isinstance(value, int):
        return f"{value:,}" if grouped else str(value)
    if not math.isfinite(value):
        return "unlimited" if value > 0 else "unknown"
    rounded = Decimal(f"{value:.{digits}g}")
    text = f"{rounded:,f}" if grouped else f"{rounded:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _with_unit(number: str, value: float, unit: str | None) -> str:
    if not unit:
        return number
    if unit == "USD" or unit.startswith("USD/"):
        return f"-${number[1:]}{unit[3:]}" if value < 0 else f"${number}{unit[3:]}"
    shown = _SPELT_OUT.get(unit, unit)
    if value == 1 and shown.endswith("s") and len(shown) > 3 and "/" not in shown:
        shown = shown[:-1]
    return f"{number} {shown}"


def _choice(fact: FactDef | None, word: str) -> str:
    """The label where it is short enough to stand inside a sentence, else the choice itself."""
    if fact is None:
        return word
    label = fact.choice_labels.get(word)
    if label is not None and len(label.split()) <= _LONGEST_LABEL:
        return label
    return word.replace("_", " ") if word in fact.choices else word


def _item(fact: FactDef | None, item: bool | float | str) -> str:
    if fact is not None and fact.items == "gpu_count" and isinstance(item, str):
        gpu, count = gpu_and_count(item)
        return f"{count} x {gpu}"
    if isinstance(item, str):
        return _choice(fact, item)
    return format_number(item)


#: A sentence needs fewer digits than a table: 15.59 GB, not 15.5933 GB.
SPOKEN_DIGITS = 4
#: How many times something is something else is never known better: 0.45 times what renting costs.
_DIGITS_OF_A_RATIO = 2
#: Nor is a share: 9.83 % of the memory, not 9.834 %.
_DIGITS_OF_A_SHARE = 3
#: A fact in braces, a doubled brace, or one that stands alone.
PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@lru_cache(maxsize=2048)
def template_facts(template: str) -> tuple[str, ...]:
    """The names in braces, in order, as written."""
    return tuple(match[1].strip() for match in PIECE.finditer(template) if match[1] is not None)


def render(template: str, facts: Facts, vocabulary: Vocabulary) -> str:
    """Fill in a checked template: values with their units, ``unknown`` where there is none."""

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][:1]
        fact = vocabulary.fact(match[1].strip())
        if fact is None:
            return match[0]
        digits = _DIGITS_OF_A_SHARE if fact.unit == "%" else SPOKEN_DIGITS
        digits = _DIGITS_OF_A_RATIO if fact.name.endswith("_ratio") else digits
        return format_value(fact, facts.get(fact.name), digits=digits)

    return PIECE.sub(fill, template)
