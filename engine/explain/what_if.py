"""Deciding variations of a recorded workload, each once, up to a number of decisions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from whichgpu.engine.advisor import Advisor, Outcome, Probed, Workload, choice_on
from whichgpu.engine.core import InputError, Value, collection_paused
from whichgpu.engine.explain.fact_changes import FactChange
from whichgpu.engine.explain.probing import ProbingContext, probing_context
from whichgpu.engine.interview import Answered
from whichgpu.engine.rules import probing


class OutOfDecisionsError(Exception):
    """The search has used up the decisions that it may make."""


@dataclass(slots=True)
class WhatIfSearch:
    """Decides variations of one workload, at most ``limit`` of them."""

    advisor: Advisor
    given: Mapping[str, Value]
    objective: str | None  # where the facts do not bring it about
    decided_at: datetime
    limit: int
    watch: Callable[[int], object] | None = None  # called with 1 at every decision
    made: int = 0
    _context: ProbingContext = field(init=False)
    _of_some: dict[frozenset[str], ProbingContext] = field(default_factory=dict)
    _known: dict[tuple[Hashable, ...], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Variations are decided in one context, which keeps what they have in common."""
        self._context = probing_context(self.advisor.context)

    def outcome(self, changes: tuple[FactChange, ...] = ()) -> Outcome | None:
        """The outcome with these facts changed; None where the workload is then refused.

        Raises:
            OutOfDecisionsError: a further decision would be needed.
        """
        found: Outcome | None = self._once(("whole", _key(changes)), lambda: self._decide(changes))
        return found

    def answer(self, changes: tuple[FactChange, ...]) -> Answered | None:
        """The answer with these facts changed; None where the workload is then refused or contradicts itself.

        Raises:
            OutOfDecisionsError: a further decision would be needed.
        """
        found: Answered | None = self._once(("answer", _key(changes)), lambda: self._answer(changes))
        return found

    def tried(self, changes: tuple[FactChange, ...], unless_rejected: frozenset[str] = frozenset()) -> Probed | None:
        """The choice with these facts changed; None where the workload is then refused or contradicts itself.

        Args:
            changes: the facts.
            unless_rejected: where every plan of these GPUs is rejected, theirs are all that is looked at.

        Raises:
            OutOfDecisionsError: a further decision would be needed.
        """
        found: Probed | None = self._once((unless_rejected, _key(changes)), lambda: self._try(changes, unless_rejected))
        return found

    def _once(self, key: tuple[Hashable, ...], decide: Callable[[], Any]) -> Any:
        if key not in self._known:
            if self.made >= self.limit:
                raise OutOfDecisionsError
            self.made += 1
            if self.watch:
                self.watch(1)
            self._known[key] = decide()
        return self._known[key]

    def _changed(self, changes: tuple[FactChange, ...]) -> tuple[dict[str, Value], str | None]:
        """The facts, and the objective where they do not bring it about."""
        facts = dict(self.given)
        objective = self.objective
        for change in changes:
            facts.pop(change.fact, None)
            if change.after is not None:
                facts[change.fact] = change.after
            if change.fact == "objective":
                objective = None
        return facts, objective

    @probing()
    def _decide(self, changes: tuple[FactChange, ...]) -> Outcome | None:
        facts, objective = self._changed(changes)
        advisor = replace(self.advisor, context=self._context)
        try:
            return advisor.decide(Workload(facts), objective=objective, decided_at=self.decided_at).outcome
        except InputError:
            return None

    @probing()
    @collection_paused()
    def _answer(self, changes: tuple[FactChange, ...]) -> Answered | None:
        found = self._choice(self._context, changes)
        if found is None:
            return None
        verdict = self._context.rent_or_buy(found, self.decided_at.date())
        plan = found.chosen.ranked.plan if found.chosen else None
        return Answered(plan.gpu.id if plan else None, plan.count if plan else None, verdict)

    @probing()
    @collection_paused()
    def _try(self, changes: tuple[FactChange, ...], unless_rejected: frozenset[str]) -> Probed | None:
        if unless_rejected:
            if unless_rejected not in self._of_some:
                self._of_some[unless_rejected] = probing_context(self.advisor.context, unless_rejected)
                self._choice(self._of_some[unless_rejected], ())  # What plans look at is seen on the facts as they are.
            theirs = self._choice(self._of_some[unless_rejected], changes)
            if theirs is None or theirs.round is None or not (theirs.round.judged or theirs.round.refused):
                return theirs
        return self._choice(self._context, changes)

    def _choice(self, context: ProbingContext, changes: tuple[FactChange, ...]) -> Probed | None:
        facts, named = self._changed(changes)
        try:
            objective = self.advisor.objective(named, facts)
        except InputError:
            return None
        if named is not None:
            facts["objective"] = named
        return choice_on(context, facts, objective)


def _key(changes: tuple[FactChange, ...]) -> tuple[Hashable, ...]:
    return tuple(sorted(((change.fact, change.after) for change in changes), key=lambda pair: pair[0]))
