"""One spelling for every value: canonical JSON, rounded figures and digests over content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any


SIGNIFICANT_DIGITS = 6


def rounded(value: float) -> float | int:
    """A figure at six significant digits, so that a record does not depend on the last bit of a sum."""
    if value == 0 or not math.isfinite(value):
        return 0 if value == 0 else value
    digits = SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(value)))
    result = round(value, digits)
    return int(result) if result == int(result) and abs(result) < 1e15 else result


def json_value(value: Any) -> Any:
    """The value as JSON types: tuples become lists, floats are rounded, keys are text."""
    kind = value.__class__  # The plain types, by far the most, are recognised without asking for subclasses.
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return rounded(value)
    if kind is dict:
        return {key if key.__class__ is str else str(key): json_value(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [json_value(item) for item in value]
    return _plain_of_kin(value)


def _plain_of_kin(value: Any) -> Any:
    """JSON values for sets, and for subclasses of plain types."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, Mapping):
        return json_value(dict(value))
    if isinstance(value, list | tuple | set | frozenset):
        return json_value(sorted(value) if isinstance(value, set | frozenset) else list(value))
    raise TypeError(f"{type(value).__name__} has no canonical form")


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, no escapes beyond what JSON asks for. Raises ValueError on NaN."""
    return json.dumps(json_value(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 over the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
