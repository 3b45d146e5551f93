"""What is made of a level's rules before any of them fires, kept between runs: the work is the same at every start."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from whichgpu.engine.core import recall_compiled, remember_compiled
from whichgpu.engine.rules.inference.compile import Rulesets, rulesets_of
from whichgpu.engine.rules.inference.parts import Parts, parts_of
from whichgpu.engine.rules.rulebook.model import Rule


class Prepared(Struct, frozen=True):
    """A level's conditions taken apart, and the rulesets that durable-rules is given of them."""

    parts: Parts
    rulesets: Rulesets


def prepared(rules: Mapping[str, Rule], key: str) -> Prepared:
    """A level as it was kept, or made now and kept.

    Args:
        rules: of the level, by id.
        key: of the rulebook that they belong to, which differs where a condition of theirs does.
    """
    names = "\n".join((key, *rules))
    own = hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()
    found = recall_compiled("level", own, Prepared)
    if found is None:
        parts = parts_of(rules)
        found = Prepared(parts, rulesets_of(parts, native=True))
        remember_compiled("level", own, found)
    return found
