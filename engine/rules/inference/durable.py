"""Matching by durable-rules: encode the fact sets, let the compiled rulesets fire, read the matches back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import get_args

from msgspec import Struct

from whichgpu.engine.core import Facts, InternalError, Value
from whichgpu.engine.rules.inference.compile import NO_GUARD, Batch, Field, Ruleset, Unit, batches, compile_units, unit
from whichgpu.engine.rules.inference.driver import MAX_FACTS, Session
from whichgpu.engine.rules.inference.encode import Kind, TextCache, Unencodable
from whichgpu.engine.rules.inference.evaluation import Evaluation
from whichgpu.engine.rules.inference.native import NativeTest, native_tests
from whichgpu.engine.rules.inference.parts import Parts
from whichgpu.engine.rules.language.tree import is_local


_NO_GUARDS = frozenset({NO_GUARD})
_TRUTH = {True: "1", False: "0"}

#: ``{"id":"`` and three digits: a batch is below 1000 facts. Fixed widths let a match be read without parsing JSON.
_ID_START = len('{"m":{"id":"')
_ID_DIGITS = 3
_MAX_GUARD_SETS = 64


@dataclass(slots=True)
class _Loaded:
    """A ruleset with its session in the C engine, made when first used."""

    name: str
    ruleset: Ruleset
    session: Session | None = None
    _batches: dict[frozenset[int], list[Batch]] = field(default_factory=dict)

    def batches(self, guards: frozenset[int]) -> list[Batch]:
        """What to assert when these guards have fired; the same workload often comes again."""
        found = self._batches.get(guards)
        if found is None:
            if len(self._batches) >= _MAX_GUARD_SETS:
                self._batches.clear()
            found = self._batches[guards] = batches(self.ruleset, guards)
        return found

    def run(self, facts: list[str]) -> list[tuple[str, str]]:
        if self.session is None:
            self.session = Session(self.name, list(self.ruleset.rules))
        return self.session.run(facts)


def _loaded(name: str, units: Iterable[Unit]) -> tuple[_Loaded, ...]:
    return tuple(_Loaded(f"{name}{number}", ruleset) for number, ruleset in enumerate(compile_units(units)))


class _Plan(Struct, frozen=True):
    """All rulesets of a level, in one form: with native tests, or with condition fields only."""

    common: tuple[_Loaded, ...]
    local: tuple[_Loaded, ...]
    rule_of: dict[str, str]  # engine name -> rule id


class Seen(Struct, frozen=True):
    """What is to be fired: some rows of an evaluation, which supplies what the C engine cannot test itself."""

    evaluation: Evaluation
    rows: Sequence[int]
    facts: Sequence[Facts] | None = None  # each row's own, where they are at hand

    @property
    def fact_sets(self) -> Sequence[Facts]:
        """Each row's own facts."""
        return self.evaluation.own_facts(self.rows) if self.facts is None else self.facts

    def values(self, name: str) -> Sequence[Value | None]:
        """One fact of each row, None where it is not known."""
        if self.facts is None:
            return self.evaluation.fact_values(name, self.rows)
        return [facts.get(name) for facts in self.facts]


class DurableMatcher:
    """A level of rules fired by durable-rules. Compiles when first used, once.

    Args:
        parts: the conditions of the level's rules.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._forms: dict[bool, _Plan] = {}
        self._texts: dict[Kind, TextCache] = {kind: TextCache(kind) for kind in get_args(Kind)}

    def match(self, seen: Seen) -> list[frozenset[str]]:
        """The ids of the rules that fire, for each fact set.

        Raises:
            InternalError: the C engine failed, or fired a rule twice on one fact set.
        """
        always, guards = self._fire_common(seen.evaluation)
        matched: list[set[str]] = [set(always) for _ in seen.rows]
        for start in range(0, len(seen.rows), MAX_FACTS):
            indexes = list(range(start, min(start + MAX_FACTS, len(seen.rows))))
            odd = self._fire_local(seen, indexes, guards, matched, native=True)
            if odd:
                self._fire_local(seen, odd, guards, matched, native=False)
        return [frozenset(rules) for rules in matched]

    def rulesets(self) -> list[Ruleset]:
        """The compiled rulesets, for inspection."""
        form = self._form(native=True)
        return [loaded.ruleset for loaded in (*form.common, *form.local)]

    def _form(self, *, native: bool) -> _Plan:
        if native not in self._forms:
            self._forms[native] = self._compile(native=native)
        return self._forms[native]

    def _compile(self, *, native: bool) -> _Plan:
        parts = self._parts.parts
        tests: list[NativeTest | None] = native_tests(parts) if native else [None] * len(parts)
        guard_numbers: dict[tuple[int, ...], int] = {}
        rule_of: dict[str, str] = {}
        common: list[Unit] = []
        local: list[Unit] = []
        for number, (rule, (shared, own)) in enumerate(self._parts.split.items()):
            name = f"r{number}"
            rule_of[name] = rule
            if own:
                guard = guard_numbers.setdefault(shared, len(guard_numbers)) if shared else NO_GUARD
                local.append(unit(name, own, tests, guard))
            else:
                common.append(unit(name, shared, tests))
        common += [unit(f"g{number}", shared, tests) for shared, number in guard_numbers.items()]
        return _Plan(_loaded("common", common), _loaded("local", local), rule_of)

    def _fire_common(self, seen: Evaluation) -> tuple[list[str], frozenset[int]]:
        """Rules that read common facts only, and the guards of the others."""
        try:
            form = self._form(native=True)
            fired = [name for loaded in form.common for name in self._fire_one(loaded, seen)]
        except Unencodable:
            form = self._form(native=False)
            fired = [name for loaded in form.common for name in self._fire_one(loaded, seen)]
        rules = [form.rule_of[name] for name in fired if name in form.rule_of]
        guards = frozenset(int(name[1:]) for name in fired if name not in form.rule_of)
        return rules, guards | _NO_GUARDS

    def _fire_one(self, loaded: _Loaded, seen: Evaluation) -> list[str]:
        names: list[str] = []
        for batch in loaded.batches(_NO_GUARDS):
            conditions = "".join(
                key + _TRUTH[value] for part, key in batch.conditions if (value := seen.common(part)) is not None
            )
            fact = f'{{"id":"000"{batch.flags}{self._common_text(batch.fields, seen.shared)}{conditions}}}'
            names += [name for name, message in loaded.run([fact]) if _indexes(name, message, len(fact)) == [0]]
        return names

    def _common_text(self, fields: Iterable[Field], shared: Facts) -> str:
        return "".join(
            each.key + self._texts[each.kind][value] for each in fields if (value := shared.get(each.fact)) is not None
        )

    def _fire_local(
        self, seen: Seen, indexes: list[int], guards: frozenset[int], matched: list[set[str]], *, native: bool
    ) -> list[int]:
        """Fire the rules that read a set's own facts. Returns the sets that cannot be encoded for native tests."""
        form = self._form(native=native)
        odd: set[int] = set()
        found: list[tuple[str, list[int]]] = []
        for loaded in form.local:
            for batch in loaded.batches(guards):
                try:
                    head = batch.flags + self._common_text(
                        (each for each in batch.fields if not is_local(each.fact)), seen.evaluation.shared
                    )
                except Unencodable:
                    return indexes
                columns = [self._column(each, seen, indexes, odd) for each in batch.fields if is_local(each.fact)]
                columns += [_condition_column(key, part, seen, indexes) for part, key in batch.conditions]
                facts, positions, width = _assemble(head, columns, len(indexes), odd)
                for name, message in loaded.run(facts) if facts else ():
                    found.append((form.rule_of[name], [positions[k] for k in _indexes(name, message, width)]))
        for rule, where in found:
            for position in where:
                if position not in odd:
                    matched[indexes[position]].add(rule)
        return [indexes[position] for position in sorted(odd)]

    def _column(self, each: Field, seen: Seen, indexes: Sequence[int], odd: set[int]) -> list[str]:
        """One field of every fact, ready to be joined; empty where the fact is unknown."""
        key, texts = each.key, self._texts[each.kind]
        values = seen.values(each.fact)
        if len(indexes) < len(values):
            values = [values[index] for index in indexes]
        try:
            return ["" if value is None else key + texts[value] for value in values]
        except Unencodable:
            column = []
            for position, value in enumerate(values):
                try:
                    column.append("" if value is None else key + texts[value])
                except Unencodable:
                    odd.add(position)
                    column.append("")
            return column


def _condition_column(key: str, part: int, seen: Seen, indexes: list[int]) -> list[str]:
    values = seen.evaluation.values(part, [seen.rows[index] for index in indexes])
    return ["" if value is None else key + _TRUTH[value] for value in values]


def _assemble(head: str, columns: list[list[str]], size: int, odd: set[int]) -> tuple[list[str], list[int], int]:
    """The facts as JSON of one width, the position of each, and that width."""
    rows = list(map("".join, zip(*columns, strict=True))) if columns else [""] * size
    positions = [position for position in range(size) if position not in odd] if odd else list(range(size))
    if not positions:
        return [], [], 0
    longest = max(len(rows[position]) for position in positions)
    facts = [
        f'{{"id":"{number:0{_ID_DIGITS}}"{head}{rows[position]:<{longest}}}}'
        for number, position in zip(count(), positions, strict=False)
    ]
    return facts, positions, len(facts[0])


def _indexes(name: str, message: str, width: int) -> list[int]:
    """Which facts a rule fired on, read off a message ``{"rule":[{"m":FACT},{"m":FACT}]}`` of facts of one width.

    Raises:
        InternalError: the message has another form, or names a fact twice.
    """
    start = len(name) + len('{"":[')
    stride = width + len('{"m":},')
    spots = range(start + _ID_START, len(message), stride)
    found = [int(message[spot : spot + _ID_DIGITS]) for spot in spots]
    if start + len(found) * stride + len("]}") - 1 != len(message):
        raise InternalError(f"durable-rules answers in an unknown form: {message[:80]!r}")
    if len(set(found)) < len(found):
        raise InternalError(f"durable-rules fired {name} twice on one fact")
    return found
