"""Conjunctions to durable rulesets, and to the facts that they read, within the engine's limits.

A match needs three fires, each of rules that the one before leaves. *Gates* are parts that many rules share and that
read what all fact sets have in common (the workload's facts). Behind them fire the rules that read nothing else, and
*guards*: one for each distinct common part of the other rules. These, the *local* ones, fire behind their guards.

Rules lie in buckets, all rules of a bucket behind one gate or guard, and a fact is made for each bucket whose gate or
guard fired, of what its rules read and no more. So rules that the workload dismisses cost nothing, facts are small, and
plans that are alike in what a bucket reads share one fact.

Measured limits of the engine and how they are kept:

* 64 pending tests of one fact: a bucket's flag lies behind a second one, and a fact carries one flag of each kind;
* 511 distinct tests under one parent, 256 rules on one test, 128 ``$or`` on one test: a bucket is far smaller;
* 255 properties of a fact: a bucket reads fewer;
* 32 groups in one pattern: a rule with more lists than MAX_LISTS leaves the others to condition fields.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from msgspec import Struct

from whichgpu.engine.rules.inference.driver import BATCH
from whichgpu.engine.rules.inference.encode import FlagNames, Kind, property_names
from whichgpu.engine.rules.inference.native import InList, NativeTest, facts_of, native_tests, patterns, width_of
from whichgpu.engine.rules.inference.parts import Part, Parts, dismissing_first
from whichgpu.engine.rules.language.tree import is_local


MAX_RULES_IN_BUCKET = 28
MAX_BUCKETS_IN_GROUP = 14
MAX_GROUPS = 16
MAX_TESTS_IN_BUCKET = 400
MAX_PROPERTIES = 240
MAX_LISTS = 10
#: A part that all fact sets share becomes a gate where so many rules and guards have it.
GATED_FROM = 8

_Item = TypeVar("_Item")

#: The guard of what nothing stands before: always up.
NO_GUARD = -1


class Unit(Struct, frozen=True):
    """What fires: a rule, guard or gate. ``tests`` are (part, native form or None), ``guard`` what must fire first."""

    name: str
    tests: tuple[tuple[int, NativeTest | None], ...]
    guard: int = NO_GUARD

    def facts(self) -> frozenset[str]:
        """Facts that its native tests read."""
        return frozenset(fact for _, test in self.tests if test is not None for fact in facts_of(test))

    def conditions(self) -> frozenset[int]:
        """Parts that must come as condition fields."""
        return frozenset(part for part, test in self.tests if test is None)


class Field(Struct, frozen=True):
    """A fact's place in the engine's fact. ``key`` is ready to be written before the value's text."""

    fact: str
    kind: Kind
    key: str


class Bucket(Struct, frozen=True):
    """Units of one guard behind a group's flag and one of their own, and what a fact must carry for them to fire."""

    number: int  # in its ruleset
    group: str
    flag: str
    guard: int
    units: tuple[Unit, ...]
    common: tuple[Field, ...]  # facts that all fact sets share
    local: tuple[Field, ...]  # facts of each
    conditions: tuple[tuple[int, str], ...]  # part, key
    flags: str  # both, as members of a JSON object
    own: tuple[str, ...]  # the keys of what differs between fact sets


class Ruleset(Struct, frozen=True):
    """One ruleset of the C engine."""

    rules: tuple[str, ...]  # members of the ruleset's JSON object
    buckets: tuple[Bucket, ...]


class Rulesets(Struct, frozen=True):
    """All rulesets of a level."""

    gates: tuple[Ruleset, ...]  # and what no gate stands before
    common: tuple[Ruleset, ...]
    local: tuple[Ruleset, ...]
    rule_of: dict[str, str]  # engine name -> rule id


def rulesets_of(level: Parts, *, native: bool) -> Rulesets:
    """The rulesets of a level's rules, given by their conditions; without ``native`` with condition fields only."""
    parts = level.parts
    tests: list[NativeTest | None] = native_tests(parts) if native else [None] * len(parts)
    guard_numbers: dict[tuple[int, ...], int] = {}
    rule_of: dict[str, str] = {}
    common: dict[str, tuple[int, ...]] = {}
    local: list[Unit] = []
    for number, (rule, (shared, own)) in enumerate(level.split.items()):
        name = f"r{number}"
        rule_of[name] = rule
        if own:
            guard = guard_numbers.setdefault(shared, len(guard_numbers)) if shared else NO_GUARD
            local.append(unit(name, own, tests, guard))
        else:
            common[name] = shared
    common |= {f"g{number}": shared for shared, number in guard_numbers.items()}
    gated = _gates(common, parts)
    first = [unit(name, shared, tests) for name, shared in common.items() if name not in gated]
    first += [unit(f"h{part}", [part], tests) for part in sorted(set(gated.values()))]
    behind = [unit(name, [part for part in common[name] if part != gate], tests, gate) for name, gate in gated.items()]
    return Rulesets(
        compile_units(first, apart=False, guarded=False),
        compile_units(behind, apart=False, guarded=True),
        compile_units(local, apart=True, guarded=True),
        rule_of,
    )


def _gates(units: dict[str, tuple[int, ...]], parts: Sequence[Part]) -> dict[str, int]:
    """For units, given by their parts, the part that stands before them as a gate; some have none."""
    uses = Counter(part for own in units.values() if len(own) > 1 for part in own)
    first = dismissing_first(parts, uses)
    found: dict[str, int] = {}
    for name, own in units.items():
        many = [part for part in own if uses[part] >= GATED_FROM]
        if many and len(own) > 1:
            found[name] = min(many, key=first)
    return found


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


def compile_units(units: Sequence[Unit], *, apart: bool, guarded: bool) -> tuple[Ruleset, ...]:
    """Rulesets that together fire every unit.

    Args:
        units: what is to fire.
        apart: whether only units that read the same share a bucket, so that more fact sets are alike in what it reads.
        guarded: whether few of them are given facts. Each group is a ruleset then: a run costs half a microsecond for
            each rule of its ruleset, a fact one or two, and a ruleset that is given none is not run.
    """
    read = {each.name: (sorted(each.facts()), sorted(each.conditions())) for each in units}
    ordered = sorted(units, key=lambda each: (each.guard, read[each.name]))
    groups = _pieces(list(_runs(ordered, apart=apart)), MAX_BUCKETS_IN_GROUP)
    names = _names_of(units)
    return tuple(_ruleset(some, names) for some in _pieces(groups, 1 if guarded else MAX_GROUPS))


def _pieces(items: Sequence[_Item], size: int) -> list[Sequence[_Item]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _runs(units: list[Unit], *, apart: bool) -> Iterator[list[Unit]]:
    """Runs of units that may lie behind one flag."""
    run: list[Unit] = []
    reads: set[object] = set()
    width = 0
    for each in units:
        own = each.facts() | each.conditions()
        tests = sum(width_of(test) for _, test in each.tests)
        if run and (
            each.guard != run[0].guard
            or len(run) == MAX_RULES_IN_BUCKET
            or width + tests > MAX_TESTS_IN_BUCKET
            or len(reads | own) > MAX_PROPERTIES
            or (apart and own != reads)
        ):
            yield run
            run, reads, width = [], set(), 0
        run.append(each)
        reads |= own
        width += tests
    if run:
        yield run


class _Names(NamedTuple):
    """What all rulesets of some units share: the properties of facts and conditions, and how many units have a part."""

    facts: dict[str, str]
    fields: dict[str, Field]
    conditions: dict[int, str]
    uses: dict[int, int]


def _names_of(units: Iterable[Unit]) -> _Names:
    kinds: dict[str, Kind] = {}
    uses: dict[int, int] = {}
    parts: set[int] = set()
    for each in units:
        parts |= each.conditions()
        for part, test in each.tests:
            uses[part] = uses.get(part, 0) + 1
            if test is not None:
                kinds.update(dict.fromkeys(facts_of(test), test.kind))
    facts = sorted(kinds)
    properties = property_names(len(facts) + len(parts))
    names = dict(zip(facts, properties, strict=False))
    fields = {fact: Field(fact, kinds[fact], f',"{name}":') for fact, name in names.items()}
    return _Names(names, fields, dict(zip(sorted(parts), properties[len(facts) :], strict=True)), uses)


def _ruleset(groups: Sequence[Sequence[list[Unit]]], known: _Names) -> Ruleset:
    names, fields, conditions, uses = known
    rules: list[str] = []
    buckets: list[Bucket] = []
    bucket_flags = FlagNames("b")
    for group, runs in zip(FlagNames("s").take(len(groups)), groups, strict=True):
        for flag, run in zip(bucket_flags.take(len(runs)), runs, strict=True):
            read = sorted({fact for each in run for fact in each.facts()})
            asked = sorted({part for each in run for part in each.conditions()})
            local = tuple(fields[fact] for fact in read if is_local(fact))
            asking = tuple((part, f',"{conditions[part]}":') for part in asked)
            bucket = Bucket(
                len(buckets),
                group,
                flag,
                run[0].guard,
                tuple(run),
                tuple(fields[fact] for fact in read if not is_local(fact)),
                local,
                asking,
                f',"{group}":1,"{flag}":1',
                (*(each.key for each in local), *(key for _, key in asking)),
            )
            buckets.append(bucket)
            rules += [_rule(each, (group, flag), names, conditions, uses) for each in run]
    return Ruleset(tuple(rules), tuple(buckets))


def _rule(
    each: Unit, flags: tuple[str, str], names: dict[str, str], conditions: dict[int, str], uses: dict[int, int]
) -> str:
    """One rule as a member of the ruleset: the flags, then tests, those first that most rules have and so share."""
    tests = [f'{{"{flag}":1}}' for flag in flags]
    for part, test in sorted(each.tests, key=lambda pair: (-uses[pair[0]], pair[0])):
        tests += [f'{{"{conditions[part]}":1}}'] if test is None else patterns(test, names)
    return f'"{each.name}":{{"all":[{{"m":{{"$and":[{",".join(tests)}]}}}}],"cap":{BATCH}}}'
