"""Firing a level of rules: the generated evaluator answers, durable-rules fires what a record keeps and must agree.

The two judge the same conditions by different roads. Where they differ one of them is wrong: the generated one is held
against an oracle by the tests, so its word counts, and the difference is reported (``differences``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct

from whichgpu.engine.core import Facts, FactTable, InternalError, column_of
from whichgpu.engine.rules.inference.differences import Difference, note
from whichgpu.engine.rules.inference.driver import durable_available
from whichgpu.engine.rules.inference.durable import DurableMatcher, Seen
from whichgpu.engine.rules.inference.evaluation import CaseEvaluation, Evaluation
from whichgpu.engine.rules.inference.evaluator import Evaluator
from whichgpu.engine.rules.inference.prepared import Prepared, prepared
from whichgpu.engine.rules.inference.table_evaluation import TableEvaluation
from whichgpu.engine.rules.language import facts_read
from whichgpu.engine.rules.rulebook.model import Condition, Rule


FiredBy = Literal["durable", "generated"]


_probing: ContextVar[bool] = ContextVar("probing", default=False)


@contextmanager
def probing() -> Iterator[None]:
    """While it lasts the generated evaluator fires alone: for what is only tried, and kept in no record."""
    token = _probing.set(True)
    try:
        yield
    finally:
        _probing.reset(token)


class Matcher(Protocol):
    """What is asked of an engine beside the generated evaluator."""

    def match(self, seen: Seen) -> list[frozenset[str]]:
        """The ids of the rules that fire, for each fact set."""


class Firing(Struct, frozen=True):
    """The matches of a level, with what became of all its rules on demand."""

    matches: Sequence[frozenset[str]]
    fired_by: FiredBy
    evaluation: Evaluation


class Level:
    """Rules that fire together, compiled once for any number of decisions.

    Args:
        rules: the level's rules, all of one scope or mixed.
        engine: fires the rules beside the generated evaluator; durable-rules if it is available, else none.
        key: of the rulebook, where what is made of the rules is kept between runs.
    """

    def __init__(self, rules: Iterable[Rule], engine: Matcher | None = None, key: str | None = None) -> None:
        self.rules: dict[str, Rule] = {rule.id: rule for rule in sorted(rules, key=lambda rule: rule.id)}
        self._engine = engine
        self._key = key
        self._durable: DurableMatcher | None = None

    @cached_property
    def _prepared(self) -> Prepared | None:
        return None if self._key is None else prepared(self.rules, self._key)

    @cached_property
    def evaluator(self) -> Evaluator:
        """The rules made into functions, when they first fire: some levels never do."""
        return Evaluator(self.rules, self._prepared.parts if self._prepared else None)

    def engine(self) -> Matcher | None:
        """What fires the rules beside the generated evaluator, if anything does at the moment."""
        if _probing.get():
            return None
        if self._engine is not None:
            return self._engine
        return self.durable() if durable_available() else None

    def durable(self) -> DurableMatcher:
        """This level in durable-rules' form, whether or not it is available to fire."""
        if self._durable is None:
            self._durable = DurableMatcher(self.evaluator.parts, self._prepared.rulesets if self._prepared else None)
        return self._durable

    def evaluate(self, shared: Facts, fact_sets: Sequence[Facts]) -> Evaluation:
        """What the rules come to on ``shared`` together with each fact set, by the generated evaluator."""
        if len(fact_sets) == 1:
            return CaseEvaluation(self.evaluator, shared, fact_sets[0])
        columns = {name: column_of([facts.get(name) for facts in fact_sets]) for name in self.evaluator.local_reads}
        return TableEvaluation(self.evaluator, shared, FactTable(len(fact_sets), columns))

    def evaluate_table(self, shared: Facts, table: FactTable) -> TableEvaluation:
        """What the rules come to on ``shared`` together with each row of a table."""
        return TableEvaluation(self.evaluator, shared, table)


def fire(level: Level, shared: Facts, fact_sets: Sequence[Facts] = ({},), names: Sequence[str] | None = None) -> Firing:
    """Fire a level's rules on each fact set, and let durable-rules confirm it.

    Args:
        level: the rules.
        shared: the facts that all sets have in common: the workload's, without a dot in the name.
        fact_sets: each plan's, GPU's or candidate's own facts, with a dot in the name; one empty set for the workload.
        names: what to call each fact set where the engines differ, a plan id say.

    Returns:
        For each fact set the ids of the rules that fired, and the verdicts on all rules on demand.
    """
    evaluation = level.evaluate(shared, fact_sets)
    return Firing(evaluation.matches, confirm(level, evaluation, range(len(fact_sets)), names, fact_sets), evaluation)


def confirm(
    level: Level,
    evaluation: Evaluation,
    rows: Sequence[int],
    names: Sequence[str] | None = None,
    fact_sets: Sequence[Facts] | None = None,
) -> FiredBy:
    """Let durable-rules fire some rows of an evaluation. What differs is noted; the evaluation stands.

    Args:
        level: the rules.
        evaluation: what they come to.
        rows: the numbers of the rows to confirm.
        names: what to call each.
        fact_sets: the facts of each, if they are at hand.

    Returns:
        ``durable`` if it fired and agreed on every match.
    """
    engine = level.engine()
    if engine is None:
        return "generated"
    if not level.rules or len(rows) == 0:
        return "durable"
    seen = Seen(evaluation, np.array(rows, np.intp), fact_sets)
    try:
        found = _differences(level, seen, engine.match(seen), names)
    except InternalError as error:
        found = [Difference(f"durable-rules failed: {error}")]
    note(found)
    return "generated" if found else "durable"


def _differences(
    level: Level, seen: Seen, matches: list[frozenset[str]], names: Sequence[str] | None
) -> list[Difference]:
    """Each rule that the engines differ on, on which fact set, and the facts that its conditions read."""
    expected = [seen.evaluation.matches[row] for row in seen.rows.tolist()]
    if matches == expected:
        return []
    if len(matches) != len(expected):
        return [Difference(f"durable-rules answered for {len(matches)} fact sets of {len(expected)}")]
    found: list[Difference] = []
    for place, (fired, right) in enumerate(zip(matches, expected, strict=True)):
        for rule in sorted(fired ^ right):
            name = names[place] if names else f"fact set {place}"
            what = f"durable-rules {'fired' if rule in fired else 'did not fire'} {rule} on {name}"
            facts = {**seen.evaluation.shared, **seen.fact_sets[place]}
            reads = {fact for line in _lines(level, rule) for fact in facts_read(line.expr)}
            found.append(Difference(what, rule, name, {fact: facts[fact] for fact in sorted(reads & facts.keys())}))
    return found


def _lines(level: Level, rule: str) -> tuple[Condition, ...]:
    return level.rules[rule].when if rule in level.rules else ()
