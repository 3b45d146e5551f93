"""Numbers as a reader wants them: rounded to what matters, with their unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from whichgpu.engine.core import usd_words


BYTES_PER_GB = 1e9
GIB_PER_GB = BYTES_PER_GB / 2**30
#: Hours: a duration of three days or more is said in days.
_DAYS_FROM = 72


def number(value: float) -> str:
    """Three significant digits below 1,000, whole numbers with separators above."""
    if not math.isfinite(value):
        return str(value)
    magnitude = abs(value)
    if magnitude >= 1000 or value == int(value):
        return f"{value:,.0f}"
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    if magnitude >= 1:
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"


def size(value: float) -> str:
    """A memory figure: one decimal, two below one, none from a thousand on."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 or value == 0 else f"{value:.2f}"


def gb(value: float | None) -> str:
    """Decimal gigabytes alone."""
    return "unknown" if value is None else f"{size(value)} GB"


def gb_and_gib(value: float | None) -> str:
    """Decimal gigabytes with the binary ones that monitoring tools show."""
    return "unknown" if value is None else f"{size(value)} GB ({size(value * GIB_PER_GB)} GiB)"


def usd(value: float | None) -> str:
    """Dollars as people write them, or that they are not known."""
    return "unknown" if value is None else usd_words(value)


def percent(value: float | None) -> str:
    """A percentage given as 0-100."""
    return "unknown" if value is None else f"{number(round(value, 1))} %"


def count_of(amount: int, one: str, many: str | None = None) -> str:
    """``1 GPU``, ``2 GPUs``."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def with_unit(value: object, unit: str | None) -> str:
    """A value of a fact with its unit: ``1 request``, ``2 requests``, ``8 GB``."""
    if not unit:
        return value_text(value)
    noun = len(unit) > 2 and unit.isalpha() and unit.endswith("s")
    return f"{value_text(value)} {unit[:-1] if noun and value == 1 else unit}"


def hours(value: float) -> str:
    """A duration in the unit that a person would use."""
    if value < 1 / 60:
        return f"{number(value * 3600)} seconds"
    if value < 2:
        return f"{number(value * 60)} minutes"
    if value < _DAYS_FROM:
        return f"{number(value)} hours"
    return f"{number(value / 24)} days ({number(value)} hours)"


def hours_band(low: float, high: float) -> str:
    """Two durations in one unit where both are said in days: ``12.4 to 29.5 days``."""
    if low >= _DAYS_FROM:
        return f"{number(low / 24)} to {number(high / 24)} days"
    return f"{hours(low)} to {hours(high).partition(' (')[0]}"


def milliseconds(value: float) -> str:
    """A latency."""
    return f"{number(value / 1000)} s" if value >= 1000 else f"{number(value)} ms"


def value_text(value: object) -> str:
    """A fact's value in words: yes and no, lists with commas, numbers with separators."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(value_text(item) for item in value) or "none"
    return "none" if value is None else str(value)


def joined(words: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
