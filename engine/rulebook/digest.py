"""The digest of rules: over what they say, not over bytes, so comments, order and layout never change it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from dataclasses import is_dataclass
from typing import Any

from engine.problems import Place
from engine.rulebook.model import Rule


#: Where a rule stands and how it is filed decides nothing; the rest of these follows from other fields.
_LEFT_OUT = frozenset({"place", "topic", "reads", "writes", "mentions"})


def digest_of(rules: Iterable[Rule]) -> str:
    """SHA-256 over the canonical JSON of the rules, sorted by id."""
    ordered = sorted(rules, key=lambda rule: rule.id)
    text = json.dumps([canonical(rule) for rule in ordered], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: Any) -> Any:
    """A rule, or a part of one, as JSON values: trees are tagged with their class, places are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            part.name: canonical(getattr(value, part.name))
            for part in fields(value)
            if part.name not in _LEFT_OUT and not isinstance(getattr(value, part.name), Place)
        }
        if "expr" in parts:  # The tree says it; its spelling does not matter.
            parts.pop("text", None)
        return {"is": type(value).__name__, **parts}
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [canonical(item) for item in value]
    if isinstance(value, frozenset | set):
        return sorted(canonical(item) for item in value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
