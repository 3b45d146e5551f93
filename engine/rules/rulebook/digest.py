"""The digest of rules: over what they say, not over bytes, so comments, order and layout never change it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from dataclasses import is_dataclass
from typing import Any

from whichgpu.engine.rules.rulebook.model import Rule


#: Where a rule stands, how it is filed and tested decides nothing; the rest of these follows from other fields.
_LEFT_OUT = frozenset({"place", "topic", "tests", "reads", "writes", "mentions", "replaces", "layer"})

#: The fields of each class that count; looked up once.
_FIELDS: dict[type, tuple[str, ...]] = {}


def digest_of(rules: Iterable[Rule]) -> str:
    """SHA-256 over the canonical JSON of the rules, sorted by id. Tests are left out: they change no decision."""
    return combined(rule_digest(rule) for rule in rules)


def rule_digest(rule: Rule) -> str:
    """SHA-256 over the canonical JSON of one rule."""
    text = json.dumps(canonical(rule), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def combined(digests: Iterable[str]) -> str:
    """The digest of a set of rules from the digests of each."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def canonical(value: Any) -> Any:
    """A rule, or a part of one, as JSON values: trees are lists headed by their class, places are left out."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if kind is tuple or kind is list:
        return [canonical(item) for item in value]
    names = _FIELDS.get(kind)
    if names is None and is_dataclass(kind):
        names = _FIELDS[kind] = _counting(kind)
    if names is not None:
        return [kind.__name__, *[canonical(getattr(value, name)) for name in names]]
    return int(value) if kind is float and value.is_integer() else value


def _counting(kind: type) -> tuple[str, ...]:
    """The fields that count. Where there is a tree, it says all that its text does."""
    names = [field.name for field in fields(kind) if field.name not in _LEFT_OUT]
    return tuple(name for name in names if name != "text" or "expr" not in names)
