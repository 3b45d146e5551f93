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


def plain(value: Any) -> Any:
    """The value as JSON types: tuples become lists, floats are rounded, keys are text."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    raise TypeError(f"{type(value).__name__} has no canonical form")


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, no escapes beyond what JSON asks for. Raises ValueError on NaN."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 over the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
