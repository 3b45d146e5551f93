"""Deciding a recorded workload again: the facts, the objective and the moment that a decision was made with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from whichgpu.engine.advisor import Advisor, Decision, Workload
from whichgpu.engine.core import InputError, Problem, Value
from whichgpu.engine.rules import coerce


def recorded_facts(decision: Mapping[str, Any], advisor: Advisor) -> dict[str, Value]:
    """The facts that were given, checked against the present vocabulary.

    Raises:
        InputError: with every fact that this vocabulary does not take.
    """
    given: dict[str, Value] = {}
    problems: list[Problem] = []
    for name, entry in decision["facts"].items():
        if entry["origin"] != "given":
            continue
        fact = advisor.vocabulary.fact(name)
        if fact is None or fact.scope != "workload" or fact.role == "output":
            message = f"the decision was given {name}, which is no fact of a workload in this vocabulary"
            problems.append(Problem("unknown-fact", message, fact=name, nearest=advisor.vocabulary.nearest(name)))
            continue
        try:
            value = coerce(fact, entry["value"])
        except InputError as error:
            problems += error.problems
            continue
        if value is not None:
            given[fact.name] = value
    if problems:
        raise InputError(problems)
    return given


def recorded_moment(decision: Mapping[str, Any]) -> datetime:
    """When it was decided. Raises InputError where that is no time."""
    try:
        return datetime.fromisoformat(decision["decided_at"])
    except ValueError as error:
        raise InputError(Problem("bad-time", f"decided_at {decision['decided_at']!r} is no time")) from error


def unstated_objective(decision: Mapping[str, Any], given: Mapping[str, Value], advisor: Advisor) -> str | None:
    """The recorded objective where the facts do not bring it about; None where they do, stated or by default."""
    recorded = str(decision["objective"])
    return None if given.get("objective", advisor.default_objective) == recorded else recorded


def decide_again(
    decision: Mapping[str, Any],
    advisor: Advisor,
    *,
    given: Mapping[str, Value] | None = None,
    objective: str | None = None,
    decided_at: datetime | None = None,
) -> Decision:
    """Decide a recorded workload by the present rulebook and knowledge.

    Args:
        decision: in the shape of the contract.
        advisor: the rulebook and knowledge to decide by.
        given: in place of the recorded facts; they then say what to rank by, too.
        objective: in place of the recorded one.
        decided_at: in place of the recorded time.

    Raises:
        InputError: the present vocabulary does not take a recorded fact.
    """
    facts = dict(recorded_facts(decision, advisor) if given is None else given)
    if given is None and objective is None:
        objective = unstated_objective(decision, facts, advisor)
    moment = decided_at or recorded_moment(decision)
    return advisor.decide(Workload(facts), objective=objective, decided_at=moment)
