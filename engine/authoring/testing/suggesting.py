"""Tests that would notice a mistake: an existing test with one fact moved to where the mistake shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from whichgpu.engine.authoring.testing.mutants import Mutant
from whichgpu.engine.core import Scalar
from whichgpu.engine.rules import (
    UNKNOWN,
    Compare,
    Expr,
    FactDef,
    FactRef,
    Rule,
    RuleTest,
    Vocabulary,
    constants,
    facts_read,
    inside,
    leaves,
)


#: Pairs of changes that are tried where no single one shows a mistake.
MOST_PAIRS = 120


class Suggestion(Struct, frozen=True):
    """A test to add. ``near_miss`` is its one change to the last test of the rule that fires."""

    given: Mapping[str, object]
    plan: Mapping[str, object]
    fires: bool
    near_miss: Mapping[str, object] | None = None
    silent: tuple[str, ...] = ()  # what the rule keeps from taking effect here

    @property
    def text(self) -> str:
        """The line to add at the end of the rule's tests."""
        if self.near_miss is not None:
            return f"- near_miss: {flow(self.near_miss)}"
        parts = [f"given: {flow(self.given)}"] if self.given or not self.plan else []
        parts += [f"plan: {flow(self.plan)}"] if self.plan else []
        parts.append(f"silent: [{', '.join(self.silent)}]" if self.silent else f"fires: {scalar(self.fires)}")
        return f"- {{{', '.join(parts)}}}"

    def to_dict(self) -> dict[str, Any]:
        """The suggestion as JSON values."""
        return {"text": self.text, "fires": self.fires}


def suggestions(rule: Rule, mutant: Mutant, vocabulary: Vocabulary) -> Iterator[Suggestion]:
    """Tests to try, the likeliest first: the last firing test with one fact changed, then with two."""
    base = next((test for test in reversed(rule.tests) if test.fires), None)
    if base is None:
        return
    old = rule.when[mutant.condition].expr
    exprs = (old,) if mutant.expr is None else (old, mutant.expr)
    changes = [
        (name, value) for name in sorted(facts_read(old)) for value in _values(vocabulary.facts[name], exprs, base)
    ]
    changes += _equal(old, base)
    for name, value in changes:
        given, plan = _changed(base, {name: value}, vocabulary)
        yield Suggestion(given, plan, fires=False, near_miss={name: value})
        yield Suggestion(given, plan, fires=True)
    pairs = ((one, two) for at, one in enumerate(changes) for two in changes[at + 1 :] if one[0] != two[0])
    for one, two in islice(pairs, MOST_PAIRS):
        given, plan = _changed(base, dict((one, two)), vocabulary)
        yield Suggestion(given, plan, fires=True)
        yield Suggestion(given, plan, fires=False)


def _equal(expr: Expr, base: RuleTest) -> Iterator[tuple[str, object]]:
    """Each side of a comparison of two facts, at the value that the other has in the base test."""
    stated = {**base.given, **base.plan}
    for part in leaves(expr):
        match part:
            case Compare(_, FactRef(left), FactRef(right)):
                yield from ((one, stated[other]) for one, other in ((left, right), (right, left)) if other in stated)


def _changed(
    base: RuleTest, changes: Mapping[str, object], vocabulary: Vocabulary
) -> tuple[dict[str, object], dict[str, object]]:
    """``given`` and ``plan`` of the base test with some facts changed."""
    given, plan = dict(base.given), dict(base.plan)
    for name, value in changes.items():
        if name == "plan.count" and "gpu" in plan:
            plan["count"] = value
        elif vocabulary.facts[name].scope == "workload":
            given[name] = value
        else:
            plan[name] = value
    return given, plan


def _values(fact: FactDef, exprs: tuple[Expr, ...], base: RuleTest) -> Iterator[object]:
    """Values on both sides of every limit that the old and the new condition name; other choices; none at all."""
    own, *others = ([value for name, value in constants(expr) if name == fact.name] for expr in exprs)
    named = dict.fromkeys((*own, *(value for found in others for value in found)))
    if fact.numeric:
        limits = [float(value) for value in named if not isinstance(value, str)] or [1.0, 10.0, 100.0]
        yield from _beside(limits, fact)
    elif fact.type == "bool":
        yield from (False, True)
    elif fact.type == "enum":
        yield from (choice for choice in fact.choices if choice not in named)
        yield from (choice for choice in fact.choices if choice in named)
    elif fact.type == "list":
        yield from ((), *((choice,) for choice in fact.choices))
    else:
        yield from sorted(str(value) for value in named)
    if base.given.get(fact.name) != UNKNOWN:
        yield UNKNOWN


def _beside(limits: list[float], fact: FactDef) -> Iterator[Scalar]:
    """The limits, the rule's own first, and numbers beside and between them that read well."""
    found: dict[float, None] = {}
    for limit in limits:
        near = (limit - 1, limit + 1) if fact.type == "int" else (limit * 1.1, limit * 0.9)
        found |= dict.fromkeys((limit, *near))
    for limit in limits:
        for other in (*((limit + beside) / 2 for beside in limits), limit / 2, limit * 2, limit - 1, limit + 1):
            found[other] = None
    for value in found:
        rounded = float(f"{value:.4g}")
        if not inside(fact, rounded):
            continue
        if rounded.is_integer():
            yield int(rounded)
        elif fact.type != "int":
            yield rounded


def flow(values: Mapping[str, object]) -> str:
    """A mapping as YAML in one line."""
    return "{" + ", ".join(f"{name}: {scalar(value)}" for name, value in values.items()) + "}"


_PLAIN = re.compile(r"[A-Za-z0-9$(%-][^:,#\[\]{}\"'&*!|>`\n]*(?<! )")
_NO_TEXT = re.compile(r"(?:true|false|yes|no|on|off|null|~|-|[-+.\d][\d.,_e+-]*)", re.IGNORECASE)


def scalar(value: object) -> str:
    """A value as YAML in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(scalar(item) for item in value)}]"
    if isinstance(value, float):
        return f"{int(value)}" if value.is_integer() else f"{value:g}"
    if isinstance(value, str) and (not _PLAIN.fullmatch(value) or _NO_TEXT.fullmatch(value)):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
