"""Conjunctions to durable rulesets, and to batches of facts, within the engine's limits.

A match needs two fires. The *common* rulesets read one fact that holds what all fact sets share (the workload's facts)
and fire rules that read nothing else, and *guards*: one for each distinct common part of the other rules. The *local*
rulesets read one fact for each plan. Their rules lie in buckets, all rules of a bucket behind one guard, and a fact
carries the flags of only those buckets whose guard fired, so that a rule dismissed by the workload costs nothing.

Measured limits of the engine and how they are kept:

* 64 pending tests of one fact: buckets lie behind a second flag, so that at most MAX_SHELVES shelves, the buckets of
  one shelf and the rules of one bucket are pending together;
* 511 distinct tests under one parent, 256 rules on one test, 128 ``$or`` on one test: a bucket is far smaller;
* 255 properties of a fact: a fact carries only what the rules behind its flags read, and is split where that is more;
* 32 groups in one pattern: a rule with more lists than MAX_LISTS leaves the others to condition fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from whichgpu.engine.rules.inference.driver import BATCH
from whichgpu.engine.rules.inference.encode import FlagNames, Kind, property_names
from whichgpu.engine.rules.inference.native import InList, NativeTest, facts_of, patterns, width_of


MAX_RULES_IN_BUCKET = 28
MAX_BUCKETS_ON_SHELF = 14
MAX_SHELVES = 16
MAX_TESTS_IN_BUCKET = 400
MAX_PROPERTIES = 240
MAX_LISTS = 10

_Item = TypeVar("_Item")

#: The guard of rules without a common part: always up.
NO_GUARD = -1


class Unit(Struct, frozen=True):
    """What fires: a rule or a guard. ``tests`` are (part, native form or None), ``guard`` what must fire first."""

    name: str
    tests: tuple[tuple[int, NativeTest | None], ...]
    guard: int = NO_GUARD

    def facts(self) -> set[str]:
        """Facts that its native tests read."""
        return {fact for _, test in self.tests if test is not None for fact in facts_of(test)}

    def conditions(self) -> set[int]:
        """Parts that must come as condition fields."""
        return {part for part, test in self.tests if test is None}


class Field(Struct, frozen=True):
    """A fact's place in the engine's fact. ``key`` is ready to be written before the value's text."""

    fact: str
    kind: Kind
    key: str


class Bucket(Struct, frozen=True):
    """Two flags, of its shelf and its own, with the units behind them, all of one guard."""

    shelf: str
    flag: str
    guard: int
    units: tuple[Unit, ...]
    facts: frozenset[str]
    conditions: frozenset[int]


class Ruleset(Struct, frozen=True):
    """One ruleset of the C engine."""

    rules: tuple[str, ...]  # members of the ruleset's JSON object
    buckets: tuple[Bucket, ...]
    fields: tuple[Field, ...]  # every fact that some rule reads
    conditions: tuple[tuple[int, str], ...]  # part, key


class Batch(Struct, frozen=True):
    """What facts must carry for some of a ruleset's buckets to fire."""

    flags: str
    fields: tuple[Field, ...]
    conditions: tuple[tuple[int, str], ...]


def unit(name: str, parts: Iterable[int], tests: Sequence[NativeTest | None], guard: int = NO_GUARD) -> Unit:
    """A unit with as many native tests as a pattern holds."""
    chosen: list[tuple[int, NativeTest | None]] = []
    lists = 0
    for part in parts:
        test = tests[part]
        if isinstance(test, InList) and not test.negated:
            lists += 1
            if lists > MAX_LISTS:
                test = None
        chosen.append((part, test))
    return Unit(name, tuple(chosen), guard)


def compile_units(units: Iterable[Unit]) -> list[Ruleset]:
    """Rulesets that together fire every unit."""
    ordered = sorted(units, key=lambda each: each.guard)  # Stable, and units of one guard come together.
    shelves = _pieces(list(_runs(ordered)), MAX_BUCKETS_ON_SHELF)
    return [_ruleset(some) for some in _pieces(shelves, MAX_SHELVES)]


def _pieces(items: Sequence[_Item], size: int) -> list[Sequence[_Item]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def batches(ruleset: Ruleset, guards: frozenset[int]) -> list[Batch]:
    """The facts to assert, one after another, when these guards have fired: none if no rule can fire."""
    found: list[Batch] = []
    run: list[Bucket] = []
    carried: set[object] = set()
    for bucket in ruleset.buckets:
        if bucket.guard not in guards:
            continue
        own: set[object] = {bucket.shelf, bucket.flag, *bucket.facts, *bucket.conditions}
        if run and len(carried | own) > MAX_PROPERTIES:
            found.append(_batch(ruleset, run))
            run, carried = [], set()
        run.append(bucket)
        carried |= own
    if run:
        found.append(_batch(ruleset, run))
    return found


def _batch(ruleset: Ruleset, buckets: list[Bucket]) -> Batch:
    facts = frozenset[str]().union(*(bucket.facts for bucket in buckets))
    conditions = frozenset[int]().union(*(bucket.conditions for bucket in buckets))
    flags = dict.fromkeys(flag for bucket in buckets for flag in (bucket.shelf, bucket.flag))
    return Batch(
        "".join(f',"{flag}":1' for flag in flags),
        tuple(each for each in ruleset.fields if each.fact in facts),
        tuple((part, key) for part, key in ruleset.conditions if part in conditions),
    )


def _runs(units: list[Unit]) -> Iterator[list[Unit]]:
    """Runs of units that may lie behind one flag."""
    run: list[Unit] = []
    width = carried = 0
    for each in units:
        tests = sum(width_of(test) for _, test in each.tests)
        carries = 2 * len(each.tests)
        if run and (
            each.guard != run[0].guard
            or len(run) == MAX_RULES_IN_BUCKET
            or width + tests > MAX_TESTS_IN_BUCKET
            or carried + carries > MAX_PROPERTIES - 2
        ):
            yield run
            run, width, carried = [], 0, 0
        run.append(each)
        width += tests
        carried += carries
    if run:
        yield run


def _ruleset(shelves: Sequence[Sequence[list[Unit]]]) -> Ruleset:
    units = [each for shelf in shelves for run in shelf for each in run]
    kinds: dict[str, Kind] = {}
    uses: dict[int, int] = {}
    for each in units:
        for part, test in each.tests:
            uses[part] = uses.get(part, 0) + 1
            if test is not None:
                kinds.update(dict.fromkeys(facts_of(test), test.kind))
    facts = sorted(kinds)
    parts = sorted({part for each in units for part in each.conditions()})
    properties = property_names(len(facts) + len(parts))
    names = dict(zip(facts, properties, strict=False))
    conditions = dict(zip(parts, properties[len(facts) :], strict=True))
    rules: list[str] = []
    buckets: list[Bucket] = []
    bucket_flags = FlagNames("b")
    for shelf, runs in zip(FlagNames("s").take(len(shelves)), shelves, strict=True):
        for flag, run in zip(bucket_flags.take(len(runs)), runs, strict=True):
            buckets.append(_bucket(shelf, flag, run))
            rules += [_rule(each, (shelf, flag), names, conditions, uses) for each in run]
    return Ruleset(
        tuple(rules),
        tuple(buckets),
        tuple(Field(fact, kinds[fact], f',"{name}":') for fact, name in names.items()),
        tuple((part, f',"{name}":') for part, name in conditions.items()),
    )


def _bucket(shelf: str, flag: str, run: list[Unit]) -> Bucket:
    facts = frozenset(fact for each in run for fact in each.facts())
    conditions = frozenset(part for each in run for part in each.conditions())
    return Bucket(shelf, flag, run[0].guard, tuple(run), facts, conditions)


def _rule(
    each: Unit, flags: tuple[str, str], names: dict[str, str], conditions: dict[int, str], uses: dict[int, int]
) -> str:
    """One rule as a member of the ruleset: the flags, then tests, those first that most rules have and so share."""
    tests = [f'{{"{flag}":1}}' for flag in flags]
    for part, test in sorted(each.tests, key=lambda pair: (-uses[pair[0]], pair[0])):
        tests += [f'{{"{conditions[part]}":1}}'] if test is None else patterns(test, names)
    return f'"{each.name}":{{"all":[{{"m":{{"$and":[{",".join(tests)}]}}}}],"cap":{BATCH}}}'
