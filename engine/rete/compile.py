"""Conjunctions to durable rulesets within the engine's limits.

A match needs two fires. The *common* rulesets read one fact that holds what all fact sets share (the workload's facts)
and fire rules that read nothing else, and *guards*: one for each distinct common part of the other rules. The *local*
rulesets read one fact for each plan, which carries the flags of the guards that fired, so that a rule dismissed by the
workload costs nothing.

Measured limits of the engine and how they are kept:

* 64 pending tests of one fact: rules lie in buckets behind a flag, so that only flags and one bucket are pending;
* 511 distinct tests under one parent, 256 rules on one test, 128 ``$or`` on one test: a bucket is far smaller;
* 255 properties of a fact: a fact carries only what its ruleset reads, and a ruleset that reads more is split;
* 32 groups in one pattern: a rule with more lists than MAX_LISTS leaves the others to condition fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

from engine.rete.driver import BATCH
from engine.rete.encode import Kind
from engine.rete.encode import field_names
from engine.rete.native import InList
from engine.rete.native import NativeTest
from engine.rete.native import facts_of
from engine.rete.native import patterns
from engine.rete.native import width_of


MAX_RULES_IN_BUCKET = 28
MAX_BUCKETS = 32
MAX_TESTS_IN_BUCKET = 400
MAX_PROPERTIES = 240
MAX_LISTS = 10

#: The guard of rules without a common part: always up.
NO_GUARD = -1


@dataclass(frozen=True, slots=True)
class Unit:
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


@dataclass(frozen=True, slots=True)
class Field:
    """A fact's place in the engine's fact. ``key`` is ready to be written before the value's text."""

    fact: str
    kind: Kind
    key: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """A flag with the units behind it."""

    flag: str
    units: tuple[Unit, ...]
    guards: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ruleset:
    """One ruleset of the C engine, and what its facts must carry."""

    rules: tuple[str, ...]  # members of the ruleset's JSON object
    buckets: tuple[Bucket, ...]
    fields: tuple[Field, ...]
    conditions: tuple[tuple[int, str], ...]  # part, key


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
    """Rulesets that together fire every unit, each within the engine's limits."""
    ordered = sorted(units, key=lambda each: each.guard)  # Stable: units of one guard share buckets.
    return [_ruleset(buckets) for buckets in _split(_buckets(ordered))]


def _buckets(units: list[Unit]) -> Iterator[list[Unit]]:
    """Runs of units that may lie behind one flag."""
    bucket: list[Unit] = []
    width = properties = 0
    for each in units:
        tests = sum(width_of(test) for _, test in each.tests)
        fields = len(each.tests) * 2
        full = len(bucket) == MAX_RULES_IN_BUCKET or width + tests > MAX_TESTS_IN_BUCKET
        if bucket and (full or properties + fields > MAX_PROPERTIES - 2 * MAX_RULES_IN_BUCKET):
            yield bucket
            bucket, width, properties = [], 0, 0
        bucket.append(each)
        width += tests
        properties += fields
    if bucket:
        yield bucket


def _split(buckets: Iterable[list[Unit]]) -> Iterator[list[list[Unit]]]:
    """Runs of buckets that may lie in one ruleset."""
    run: list[list[Unit]] = []
    carried: set[object] = set()
    for bucket in buckets:
        adds: set[object] = {("guard", each.guard) for each in bucket}
        for each in bucket:
            adds |= each.facts() | each.conditions()
        if run and (len(run) == MAX_BUCKETS or len(carried | adds) + len(run) + 1 > MAX_PROPERTIES):
            yield run
            run, carried = [], set()
        run.append(bucket)
        carried |= adds
    if run:
        yield run


def _ruleset(buckets: list[list[Unit]]) -> Ruleset:
    units = [each for bucket in buckets for each in bucket]
    kinds: dict[str, Kind] = {}
    uses: dict[int, int] = {}
    for each in units:
        for part, test in each.tests:
            uses[part] = uses.get(part, 0) + 1
            if test is not None:
                kinds.update(dict.fromkeys(facts_of(test), test.kind))
    names = field_names(list(kinds))
    rules: list[str] = []
    compiled: list[Bucket] = []
    for number, bucket in enumerate(buckets):
        guards = frozenset(each.guard for each in bucket)
        compiled.append(Bucket(f"b{number}", tuple(bucket), guards))
        rules += [_rule(each, f"b{number}", names, uses, guarded=len(guards) > 1) for each in bucket]
    return Ruleset(
        tuple(rules),
        tuple(compiled),
        tuple(Field(fact, kind, f',"{names[fact]}":') for fact, kind in sorted(kinds.items())),
        tuple((part, f',"c{part}":') for part in sorted(set().union(*(each.conditions() for each in units)))),
    )


def _rule(each: Unit, flag: str, names: dict[str, str], uses: dict[int, int], *, guarded: bool) -> str:
    """One rule as a member of the ruleset: flag, guard, then tests, those first that most rules have and so share."""
    tests = [f'{{"{flag}":1}}']
    if guarded and each.guard != NO_GUARD:
        tests.append(f'{{"g{each.guard}":1}}')
    for part, test in sorted(each.tests, key=lambda pair: (-uses[pair[0]], pair[0])):
        tests += [f'{{"c{part}":1}}'] if test is None else patterns(test, names)
    pattern = tests[0] if len(tests) == 1 else '{"$and":[' + ",".join(tests) + "]}"
    return f'"{each.name}":{{"all":[{{"m":{pattern}}}],"cap":{BATCH}}}'
