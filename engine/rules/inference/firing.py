"""Firing a level of rules: durable-rules fires, the reference evaluator checks every match.

The two judge the same conditions by different roads; where they differ one of them is wrong, and no answer is better
than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Protocol

from msgspec import Struct

from whichgpu.engine.core import Facts, InternalError
from whichgpu.engine.rules.inference.driver import EngineStatus, durable_available, engine_status
from whichgpu.engine.rules.inference.durable import DurableMatcher
from whichgpu.engine.rules.inference.reference import Evaluation, ReferenceMatcher
from whichgpu.engine.rules.language import facts_read
from whichgpu.engine.rules.rulebook.model import Rule


__all__ = ["EngineStatus", "Firing", "Level", "Matcher", "engine_status", "fire", "probing"]

FiredBy = Literal["durable", "reference"]


_probing: ContextVar[bool] = ContextVar("probing", default=False)


@contextmanager
def probing() -> Iterator[None]:
    """While it lasts the reference fires alone: for what is only tried, and kept in no record.

    The two engines agree on every match that a record keeps; that they agree on what is tried beside it is what the
    tests of the inference show.
    """
    token = _probing.set(True)
    try:
        yield
    finally:
        _probing.reset(token)


class Matcher(Protocol):
    """What ``fire`` needs of an engine."""

    def match(
        self, fact_sets: Sequence[Facts], shared: Facts, evaluation: Evaluation | None = None
    ) -> list[frozenset[str]]:
        """The ids of the rules that fire, for each fact set."""


class Firing(Struct, frozen=True):
    """The matches of a level, agreed on, with the reference's view of all its rules."""

    matches: list[frozenset[str]]
    fired_by: FiredBy
    evaluation: Evaluation


class Level:
    """Rules that fire together, compiled once for any number of decisions.

    Args:
        rules: the level's rules, all of one scope or mixed.
        engine: fires the rules; durable-rules if it is available, else nobody but the reference.
    """

    def __init__(self, rules: Iterable[Rule], engine: Matcher | None = None) -> None:
        self.reference = ReferenceMatcher(rules)
        self._engine = engine
        self._durable: DurableMatcher | None = None

    @property
    def rules(self) -> dict[str, Rule]:
        """The level's rules by id."""
        return self.reference.rules

    def engine(self) -> Matcher | None:
        """What fires the rules beside the reference, if anything."""
        if self._engine is not None:
            return self._engine
        return self.durable() if durable_available() else None

    def durable(self) -> DurableMatcher:
        """This level in durable-rules' form, whether or not it is available to fire."""
        if self._durable is None:
            self._durable = DurableMatcher((), self.reference)
        return self._durable


def fire(level: Level, shared: Facts, fact_sets: Sequence[Facts] = ({},), names: Sequence[str] | None = None) -> Firing:
    """Fire a level's rules on each fact set.

    Args:
        level: the rules.
        shared: the facts that all sets have in common: the workload's, without a dot in the name.
        fact_sets: each plan's, GPU's or candidate's own facts, with a dot in the name; one empty set for the workload.
        names: what to call each fact set in an error, a plan id say.

    Returns:
        For each fact set the ids of the rules that fired, and the verdicts on all rules on demand.

    Raises:
        InternalError: the C engine failed, or the two engines differ on a match.
    """
    evaluation = level.reference.evaluate(fact_sets, shared)
    engine = None if _probing.get() else level.engine()
    if engine is None or not level.rules or not fact_sets:
        return Firing(evaluation.matches, "durable" if engine else "reference", evaluation)
    matches = engine.match(fact_sets, shared, evaluation)
    if matches != evaluation.matches:
        raise InternalError(_difference(level, evaluation, matches, names))
    return Firing(matches, "durable", evaluation)


def _difference(
    level: Level, evaluation: Evaluation, matches: list[frozenset[str]], names: Sequence[str] | None
) -> str:
    """Which rule the engines differ on, on which fact set, and the facts that its conditions read."""
    if len(matches) != len(evaluation.matches):
        return f"the engines differ: {len(matches)} fact sets answered of {len(evaluation.matches)}"
    lines: list[str] = []
    for index, (fired, expected) in enumerate(zip(matches, evaluation.matches, strict=True)):
        for rule in sorted(fired ^ expected):
            name = names[index] if names else f"fact set {index}"
            verb = "fired, and must not" if rule in fired else "did not fire, and must"
            lines.append(f"rule {rule} {verb} on {name}: {_facts_read(level, evaluation, rule, index)}")
    more = f" (and {len(lines) - 3} more)" if len(lines) > 3 else ""
    return "durable-rules and the reference evaluator differ: " + "; ".join(lines[:3]) + more


def _facts_read(level: Level, evaluation: Evaluation, rule: str, index: int) -> str:
    if rule not in level.rules:
        return "no such rule"
    facts = evaluation.facts_of(index)
    read = sorted({name for condition in level.rules[rule].when for name in facts_read(condition.expr)})
    return ", ".join(f"{name} = {facts[name]!r}" if name in facts else f"{name} unknown" for name in read)
