"""Values in plain words: numbers with their units, choices by their labels."""

from __future__ import annotations

import math
from decimal import Decimal

from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import gpu_and_count


SIGNIFICANT_DIGITS = 6
_LONGEST_LABEL = 3  # Words; a longer label explains a choice, and does not name it.
_SPELT_OUT = {"B": "billion", "h": "hours", "billions": "billion"}


def format_value(fact: FactDef, value: Value | None, *, digits: int = SIGNIFICANT_DIGITS) -> str:
    """A fact's value for a person: ``24 GB``, ``70 billion``, ``$2.50/h`` as ``$2.5/h``, ``yes``, a choice's label."""
    if value is None:
        return "unknown"
    if isinstance(value, tuple):
        return ", ".join(_item(fact, item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _choice(fact, value)
    return _with_unit(format_number(value, grouped=_grouped(fact), digits=digits), value, fact.unit)


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


def _choice(fact: FactDef, word: str) -> str:
    """The label where it is short enough to stand inside a sentence, else the choice itself."""
    label = fact.choice_labels.get(word)
    if label is not None and len(label.split()) <= _LONGEST_LABEL:
        return label
    return word.replace("_", " ") if word in fact.choices else word


def _grouped(fact: FactDef) -> bool:
    return not fact.name.endswith("_year")


def _item(fact: FactDef, item: bool | float | str) -> str:
    if fact.items == "gpu_count" and isinstance(item, str):
        gpu, count = gpu_and_count(item)
        return f"{count} x {gpu}"
    if isinstance(item, str):
        return _choice(fact, item)
    return format_number(item)
