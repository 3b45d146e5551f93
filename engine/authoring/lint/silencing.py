"""Remarks in rule files that silence a check: ``# lint: allow CHECK, CHECK: why``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whichgpu.engine.core.errors import Place
from whichgpu.engine.rules.rulebook.model import Rule


_ALLOW = re.compile(r"#\s*lint:\s*allow\s+(?P<checks>[a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)\s*(?::\s*(?P<reason>.*))?$")


@dataclass(frozen=True, slots=True)
class Allowance:
    """The checks that one line silences, and why; an empty reason where none is given."""

    checks: tuple[str, ...]
    reason: str = ""


def allowance_on(line: str) -> Allowance:
    """What a line of a rule file silences."""
    match = _ALLOW.search(line)
    if match is None:
        return Allowance(())
    checks = tuple(re.split(r"\s*,\s*", match["checks"].strip()))
    return Allowance(checks, (match["reason"] or "").strip())


def places_of(rule: Rule) -> tuple[Place, ...]:
    """The places of a rule whose lines may carry such a remark, each line once."""
    places = (rule.place, *(condition.place for condition in rule.when))
    by_line = {(place.path, place.line): place for place in reversed(places) if place}
    return tuple(by_line[key] for key in sorted(by_line))
