"""One digest over parsed content, the same whatever the order of files, keys and records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def knowledge_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 over content by topic. Lists of records that carry an ``id`` are sorted by it; numbers count by value."""
    canonical = json.dumps(
        _ordered(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _ordered(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _ordered(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        items = [_ordered(item) for item in content]
        if items and all(isinstance(item, dict) and "id" in item for item in items):
            items.sort(key=lambda item: str(item["id"]))
        return items
    if isinstance(content, float) and content.is_integer():
        return int(content)
    return content
