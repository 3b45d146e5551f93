"""Units: what a number's suffix means, and whether two units measure the same thing.

A unit is a dimension and a factor to the dimension's base (decimal GB, hours, USD, W, one). ``USD/kWh`` and the like
are quotients of two units. A word that is no known unit is a thing that can be counted, so any noun can be a unit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


COUNT = "count of "


class Unit(NamedTuple):
    """``factor`` bases of ``dimension``. Things that are counted have a dimension that starts with ``COUNT``."""

    dimension: str
    factor: float

    @property
    def counts(self) -> bool:
        """True for a plain number or a number of things: nothing physical."""
        return self.dimension.startswith(COUNT)

    def comparable(self, other: Unit) -> bool:
        """True where figures in both units may be compared as they stand."""
        if self.counts and other.counts:
            return self.factor == other.factor
        return self == other


#: Suffixes that scale a plain number.
SCALES: dict[str, float] = {
    **dict.fromkeys(("k", "thousand"), 1e3),
    **dict.fromkeys(("m", "mn", "mln", "million", "millions"), 1e6),
    **dict.fromkeys(("b", "bn", "billion", "billions"), 1e9),
    **dict.fromkeys(("t", "tn", "trillion", "trillions"), 1e12),
}

_HOURS_PER_YEAR = 8760.0  # 365 days; a month is a twelfth of it.
_NUMBER = COUNT + "number"

#: Dimension -> names separated by spaces -> factor. Where two dimensions share a name, the first is what a bare unit
#: means; a number's suffix is looked up in the dimension of its fact first.
_FAMILIES: dict[str, dict[str, float]] = {
    "data": {
        "kib": 1024 / 1e9,
        "mib mi": 1024**2 / 1e9,
        "gib gi": 1024**3 / 1e9,
        "tib ti": 1024**4 / 1e9,
        "kb kilobyte kilobytes": 1e-6,
        "mb megabyte megabytes": 1e-3,
        "gb gigabyte gigabytes gig gigs g": 1.0,
        "tb terabyte terabytes": 1e3,
        "pb petabyte petabytes": 1e6,
    },
    "power": {"w watt watts": 1.0, "kw kilowatt kilowatts": 1e3, "mw": 1e6},
    "time": {
        "us µs microsecond microseconds": 1 / 3.6e9,
        "ms msec millisecond milliseconds": 1 / 3.6e6,
        "s sec secs second seconds": 1 / 3600,
        "min mins minute minutes": 1 / 60,
        "h hr hrs hour hours": 1.0,
        "d day days": 24.0,
        "w wk wks week weeks": 168.0,
        "mo month months": _HOURS_PER_YEAR / 12,
        "y yr yrs year years": _HOURS_PER_YEAR,
    },
    "GPU time": {"gpu-hour gpu-hours gpu-h gpuh": 1.0, "gpu-day gpu-days": 24.0},
    "money": {"usd $ us$ dollar dollars": 1.0, "cent cents": 0.01},
    "energy": {"wh": 1e-3, "kwh": 1.0, "mwh": 1e3},
    "share": {"% pct percent": 1.0},
    "compute": {"gflops": 1e-3, "tflops tflop/s": 1.0, "pflops pflop/s": 1e3},
    "integer compute": {"tops": 1.0, "pops": 1e3},
    _NUMBER: {"ratio x times number": 1.0, "% pct percent": 0.01},
    COUNT + "request": {"request requests req reqs query queries": 1.0},
    COUNT + "token": {"token tokens tok toks": 1.0},
    COUNT + "parameter": {"parameter parameters param params": 1.0},
    COUNT + "sample": {"sample samples": 1.0},
    COUNT + "gpu": {"gpu gpus card cards": 1.0},
    "data/time": {"gbps gbit/s gbit/sec": 0.125 * 3600, "tbps tbit/s": 125.0 * 3600},
    f"{COUNT}request/time": {"qps rps": 3600.0, "rpm qpm": 60.0},
    f"{COUNT}token/time": {"tps": 3600.0, "tpm": 60.0},
}
#: Things of which each is a request, or has one in flight, where requests are counted.
_ANSWERED_SINGLY = frozenset(
    [
        *("user", "client", "session", "image", "picture", "photo", "clip", "video", "frame", "window"),
        *("text", "document", "doc", "page", "passage", "chunk", "prompt", "email", "ticket"),
        *("record", "row", "item", "sample"),
    ]
)
_BY_DIMENSION: dict[str, dict[str, float]] = {
    dimension: {name: factor for names, factor in family.items() for name in names.split()}
    for dimension, family in _FAMILIES.items()
}
_BARE: dict[str, Unit] = {}
for _dimension, _table in _BY_DIMENSION.items():
    for _name, _factor in _table.items():
        _BARE.setdefault(_name, Unit(_dimension, _factor))


@lru_cache(maxsize=512)
def parse_unit(text: str) -> Unit:
    """The unit of a fact: ``GB``, ``USD/kWh``, ``billion tokens``, ``requests/s``, or any noun."""
    top, bottom = _quotient(text)
    if bottom:
        above, below = parse_unit(top), _denominator(bottom)
        return Unit(f"{above.dimension}/{below.dimension}", above.factor / below.factor)
    word = " ".join(top.lower().split())
    if word in _BARE:
        return _BARE[word]
    first, _, rest = word.partition(" ")
    if first in SCALES:
        return Unit(parse_unit(rest).dimension if rest else _NUMBER, SCALES[first])
    return Unit(COUNT + word.removesuffix("s"), 1.0)


def derived_unit(op: str, left: Unit, right: Unit) -> Unit | None:
    """The unit of a product or a quotient of two quantities; None where it is no unit that anything is measured in.

    A number of things scales (``W`` times ``GPUs`` are ``W``), a rate times what it is per gives what it is of
    (``USD/h`` times ``h`` are ``USD``), and a quotient of one dimension is a plain number. A number in thousands or
    billions is not followed.
    """
    numbers = [unit.counts and "/" not in unit.dimension for unit in (left, right)]
    if any(number and unit.factor != 1 for number, unit in zip(numbers, (left, right), strict=True)):
        return None
    if left.dimension == right.dimension and op == "/":
        return Unit(_NUMBER, left.factor / right.factor)
    if numbers[1] or (numbers[0] and op == "*"):
        return left if numbers[1] else right
    if op == "*":
        for rate, over in ((left, right), (right, left)):
            of, _, per = rate.dimension.rpartition("/")
            if of and per == over.dimension:
                return Unit(of, rate.factor * over.factor)
    elif "/" not in left.dimension + right.dimension:
        return Unit(f"{left.dimension}/{right.dimension}", left.factor / right.factor)
    return None


def is_known_unit(text: str) -> bool:
    """True where a suffix is a unit of some dimension, though perhaps not of the one that was asked for."""
    return all(part.strip().lower() in _BARE for part in _quotient(text) if part)


def factor_of(suffix: str, unit: Unit | None) -> float | None:
    """What a number written with ``suffix`` is multiplied by to be in ``unit``; None where the suffix does not fit.

    A suffix is a unit of the same dimension (``TB`` for a fact in GB), a scale (``k``, ``70b``) or a scale and a noun.
    """
    word = " ".join(suffix.lower().split())
    if unit is None:
        return SCALES.get(word)
    direct = _in_dimension(word, unit.dimension)
    if direct is not None:
        return direct / unit.factor
    scale, _, noun = word.partition(" ")
    if scale not in SCALES or not (unit.counts or unit.dimension.startswith("money")):
        return None
    rest = 1.0 if not noun else _in_dimension(noun, unit.dimension)
    if rest is None:
        return None
    # `70b` of a fact in billions is 70; `1.5k` of a rate is so many of its unit.
    plain_count = unit.counts and "/" not in unit.dimension
    base = 1.0 if plain_count or noun else unit.factor
    return SCALES[scale] * rest * base / unit.factor


def _in_dimension(word: str, dimension: str) -> float | None:
    if "/" in dimension:
        direct = _BY_DIMENSION.get(dimension, {}).get(word)
        if direct is not None:
            return direct
        top, bottom = _quotient(word)
        if not bottom:
            return None
        upper, _, lower = dimension.partition("/")
        bare = not top and (upper == "money" or upper.startswith(COUNT))
        above = 1.0 if bare else _in_dimension(top, upper)
        below = _denominator(bottom)
        return above / below.factor if above is not None and below.dimension == lower else None
    if dimension in _BY_DIMENSION:
        factor = _BY_DIMENSION[dimension].get(word)
        if factor is not None or not dimension.startswith(COUNT):
            return factor
    return _counted(word, dimension)


def _counted(word: str, dimension: str) -> float | None:
    """A noun in the unit of things that are counted."""
    if dimension == _NUMBER and word in _BARE and _BARE[word].counts:
        return 1.0
    noun = word.removesuffix("s")
    if COUNT + noun == dimension or (dimension == f"{COUNT}request" and noun in _ANSWERED_SINGLY):
        return 1.0 if word else None
    return _of_recorded_time(word, dimension)


def _of_recorded_time(word: str, dimension: str) -> float | None:
    """A time in the unit of things that last: ``minutes``, or ``days of audio``, of a fact in audio hours."""
    thing, _, lasts = dimension.removeprefix(COUNT).rpartition(" ")
    times = _BY_DIMENSION["time"]
    if not thing or lasts not in times:
        return None
    time = word.removeprefix(f"{thing} ").removesuffix(f" of {thing}")
    return times[time] / times[lasts] if time in times else None


def _denominator(text: str) -> Unit:
    unit = parse_unit(text)
    # A price per GPU-hour is written and read as a price per hour.
    return Unit("time", unit.factor) if unit.dimension == "GPU time" else unit


def _quotient(text: str) -> tuple[str, str]:
    top, _, bottom = f" {text}".replace(" per ", "/").partition("/")
    return top.strip(), bottom.strip()
