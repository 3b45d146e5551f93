"""The one spelling of a statement. Unlike answers, knowledge is not rounded: what was read must come back exactly."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_text(value: Any) -> str:
    """JSON with sorted keys, no spaces, no escapes beyond what JSON asks for. Raises ValueError on NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(value: Any) -> str:
    """SHA-256 over the canonical spelling, in hexadecimal. Raises ValueError where that is no UTF-8."""
    return hashlib.sha256(canonical_text(value).encode("utf-8")).hexdigest()
