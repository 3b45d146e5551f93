"""Matching by durable-rules: encode the fact sets, let the compiled rulesets fire, read the matches back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import get_args

import numpy as np
from msgspec import Struct, field

from whichgpu.engine.core import Codes, Facts, FactTable, Value
from whichgpu.engine.rules.inference.compile import NO_GUARD, Bucket, Field, Ruleset, Rulesets, rulesets_of
from whichgpu.engine.rules.inference.encode import Kind, TextCache, Unencodable
from whichgpu.engine.rules.inference.evaluation import Evaluation
from whichgpu.engine.rules.inference.parts import Parts
from whichgpu.engine.rules.inference.rulesets import BEGINNINGS, BucketInput, Loaded, Rest, loaded_rulesets
from whichgpu.engine.rules.inference.table_evaluation import TableEvaluation
from whichgpu.engine.rules.language.columns import Rows


class _Form(Struct, frozen=True):
    """All rulesets of a level, with native tests, or with condition fields only."""

    gates: tuple[Loaded, ...]  # and what no gate stands before
    common: tuple[Loaded, ...]
    local: tuple[Loaded, ...]
    rule_of: dict[str, str]  # engine name -> rule id


class _Texts(Struct):
    """The text for some fact sets, ready to be joined: the properties of a level are those of all its rulesets."""

    columns: dict[str, list[str]] = field(default_factory=dict)  # by key
    rests: dict[tuple[str, ...], Rest] = field(default_factory=dict)


class Seen(Struct, frozen=True):
    """What is to be fired: some rows of an evaluation, which supplies what the C engine cannot test itself."""

    evaluation: Evaluation
    rows: Codes
    facts: Sequence[Facts] | None = None  # each row's own, where they are at hand

    @property
    def fact_sets(self) -> Sequence[Facts]:
        """Each row's own facts."""
        return self.evaluation.own_facts(self.rows) if self.facts is None else self.facts

    def take(self, places: Sequence[int]) -> Seen:
        """The rows at some positions."""
        facts = None if self.facts is None else [self.facts[place] for place in places]
        return Seen(self.evaluation, self.rows[list(places)], facts)

    def numbered(self, name: str) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of the rows: the number of its value in each, and the values; None for unknown."""
        if self.facts is None:
            return self.evaluation.numbered(name, self.rows)
        return range(len(self.facts)), [facts.get(name) for facts in self.facts]


class _Beside(Struct, frozen=True):
    """A table whose rows fact sets share, such as that of the GPUs."""

    evaluation: TableEvaluation
    whole: FactTable
    names: frozenset[str]  # of the facts that stand there alone
    which: Codes  # the row of each fact set


def _beside(seen: Seen) -> _Beside | None:
    """The table that fact sets share, if they do."""
    evaluation = seen.evaluation
    if seen.facts is not None or not isinstance(evaluation, TableEvaluation):
        return None
    table, whole = evaluation.table, evaluation.table.shared
    if whole is None:
        return None
    return _Beside(evaluation, whole, frozenset(whole.names - table.names), table.which[seen.rows])


class DurableMatcher:
    """A level of rules fired by durable-rules. Compiles when first used, once.

    Args:
        parts: the conditions of the level's rules.
        native: the rulesets with native tests, where they were made before.
    """

    def __init__(self, parts: Parts, native: Rulesets | None = None) -> None:
        self._parts = parts
        self._native = native
        self._forms: dict[bool, _Form] = {}
        self._texts: dict[Kind, TextCache] = {kind: TextCache(kind) for kind in get_args(Kind)}

    def match(self, seen: Seen) -> list[frozenset[str]]:
        """The ids of the rules that fire, for each fact set.

        Raises:
            InternalError: the C engine failed, or fired a rule twice on one fact set.
        """
        try:
            always, guards = self._fire_common(seen.evaluation, native=True)
        except Unencodable:
            always, guards = self._fire_common(seen.evaluation, native=False)
        matched: list[set[str]] = [set(always) for _ in range(len(seen.rows))]
        odd = self._fire_local(seen, guards, matched, native=True)
        if odd:
            self._fire_local(seen.take(odd), guards, [matched[place] for place in odd], native=False)
        return [frozenset(rules) for rules in matched]

    def rulesets(self) -> list[Ruleset]:
        """The compiled rulesets, for inspection."""
        form = self._form(native=True)
        return [loaded.ruleset for loaded in (*form.gates, *form.common, *form.local)]

    def _form(self, *, native: bool) -> _Form:
        if native not in self._forms:
            kept = self._native if native else None
            self._forms[native] = self._loaded(kept or rulesets_of(self._parts, native=native))
        return self._forms[native]

    def _loaded(self, of: Rulesets) -> _Form:
        parts = self._parts.parts
        return _Form(
            loaded_rulesets("gates", of.gates, parts),
            loaded_rulesets("common", of.common, parts),
            loaded_rulesets("local", of.local, parts),
            of.rule_of,
        )

    def _fire_common(self, seen: Evaluation, *, native: bool) -> tuple[list[str], frozenset[int]]:
        """Rules that read common facts only, and the guards of the others."""
        form = self._form(native=native)
        fired = self._fire_shared(form.gates, seen, frozenset({NO_GUARD}))
        fired += self._fire_shared(form.common, seen, frozenset(int(name[1:]) for name in fired if name[0] == "h"))
        rules = [form.rule_of[name] for name in fired if name[0] == "r"]
        return rules, frozenset({NO_GUARD, *(int(name[1:]) for name in fired if name[0] == "g")})

    def _fire_shared(self, rulesets: Iterable[Loaded], seen: Evaluation, guards: Set[int]) -> list[str]:
        """The units behind these guards that the shared facts fire."""
        fired: list[str] = []
        for loaded in rulesets:
            facts = []
            for start, bucket in zip(BEGINNINGS, loaded.behind(guards), strict=False):
                conditions = "".join([f"{key}1" for part, key in bucket.conditions if seen.common(part)])
                facts.append(f"{start}{bucket.flags}{self._common_text(bucket, seen.shared)}{conditions}}}")
            fired += [name for name, _ in loaded.session.run(facts)] if facts else []
        return fired

    def _common_text(self, bucket: Bucket, shared: Facts) -> str:
        return "".join(
            [
                each.key + self._texts[each.kind][value]
                for each in bucket.common
                if (value := shared.get(each.fact)) is not None
            ]
        )

    def _fire_local(self, seen: Seen, guards: frozenset[int], matched: list[set[str]], *, native: bool) -> list[int]:
        """Fire the rules that read a set's own facts. Returns the places that cannot be encoded for native tests."""
        form = self._form(native=native)
        odd: set[int] = set()
        found: list[tuple[str, Sequence[int]]] = []
        texts, beside = _Texts(), _beside(seen)
        for loaded in form.local:
            buckets = loaded.behind(guards)
            if not buckets:
                continue
            try:
                if beside is not None:
                    buckets, kept = self._known(loaded, buckets, beside)
                    found += kept
                found += loaded.fire(self._inputs(buckets, seen, odd, texts))
            except Unencodable:
                return [*range(len(matched))]
        for name, where in found:
            rule = form.rule_of[name]
            for place in where:
                if place not in odd:
                    matched[place].add(rule)
        return sorted(odd)

    def _known(
        self, loaded: Loaded, buckets: Iterable[Bucket], beside: _Beside
    ) -> tuple[list[Bucket], list[tuple[str, Sequence[int]]]]:
        """The buckets that are to be given facts, and what comes of the others, which read only what rows share.

        The others get every row of the table of GPUs, once as long as that table lives, as the generated evaluator
        judges it once.
        """
        kept = loaded.kept.setdefault(beside.whole, {})
        others: list[Bucket] = []
        found: list[tuple[str, Sequence[int]]] = []
        for bucket in buckets:
            if bucket.common or not loaded.reads[bucket.number] <= beside.names:
                others.append(bucket)
                continue
            if bucket.number not in kept:
                kept[bucket.number] = self._fire_whole(loaded, bucket, beside.evaluation.on(beside.whole))
            found += [(name, np.flatnonzero(rows[beside.which]).tolist()) for name, rows in kept[bucket.number].items()]
        return others, found

    def _fire_whole(self, loaded: Loaded, bucket: Bucket, evaluation: TableEvaluation) -> dict[str, Rows]:
        """On which rows of a whole table the units of a bucket fire."""
        odd = set[int]()
        inputs = self._inputs([bucket], Seen(evaluation, np.arange(evaluation.size)), odd, _Texts())
        if odd:
            raise Unencodable
        fired: dict[str, Rows] = {}
        for name, where in loaded.fire(inputs):
            fired.setdefault(name, np.zeros(evaluation.size, np.bool_))[where] = True
        return fired

    def _inputs(self, buckets: Iterable[Bucket], seen: Seen, odd: set[int], texts: _Texts) -> list[BucketInput]:
        """What buckets are given of fact sets; to ``odd`` are added those that cannot be encoded.

        Args:
            buckets: whose guards have fired.
            seen: the fact sets.
            odd: gets those that cannot be encoded.
            texts: of these sets, made for other buckets before.

        Raises:
            Unencodable: what all fact sets share cannot be encoded.
        """
        columns, rests = texts.columns, texts.rests
        inputs: list[BucketInput] = []
        for bucket in buckets:
            head = bucket.flags + self._common_text(bucket, seen.evaluation.shared)
            if bucket.own not in rests:
                for each in bucket.local:
                    if each.key not in columns:
                        columns[each.key] = self._column(each, seen, odd)
                for part, key in bucket.conditions:
                    if key not in columns:
                        columns[key] = _condition_column(key, part, seen)
                rests[bucket.own] = _joined([columns[key] for key in bucket.own], len(seen.rows))
            inputs.append(BucketInput(bucket.number, head, rests[bucket.own]))
        return inputs

    def _column(self, each: Field, seen: Seen, odd: set[int]) -> list[str]:
        """One field of every fact, ready to be joined; empty where the fact is unknown."""
        codes, values = seen.numbered(each.fact)
        key, known = each.key, self._texts[each.kind]
        try:
            texts = ["" if value is None else key + known[value] for value in values]
        except Unencodable:
            texts, unencodable = [], set[int]()
            for code, value in enumerate(values):
                try:
                    texts.append("" if value is None else key + known[value])
                except Unencodable:
                    texts.append("")
                    unencodable.add(code)
            odd.update(place for place, code in enumerate(codes) if code in unencodable)
        return texts if isinstance(codes, range) else [texts[code] for code in codes]


def _joined(columns: list[list[str]], size: int) -> Rest:
    every = columns[0] if len(columns) == 1 else list(map("".join, zip(*columns, strict=True))) or [""] * size
    return Rest(every, [*dict.fromkeys(every)])


def _condition_column(key: str, part: int, seen: Seen) -> list[str]:
    return [f"{key}1" if held else "" for held in seen.evaluation.holds(part, seen.rows)]
