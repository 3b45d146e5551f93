"""The order in which producers of facts run: each after everything that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise

from engine.problems import Place
from engine.problems import Problem
from engine.problems import RulebookError
from engine.rulebook.model import Rule


#: A producer: what it reads, what it writes.
Node = tuple[AbstractSet[str], AbstractSet[str]]


def topological_levels(
    nodes: Mapping[str, Node], places: Mapping[str, Place | None] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Producers by level, each level sorted by name: level 0 reads only what nobody produces.

    A producer comes after *all* producers of every fact that it reads.

    Args:
        nodes: name of the producer to (facts read, facts written).
        places: where a producer is written, for the error.

    Raises:
        RulebookError: producers feed each other in a circle; the message shows the path.
    """
    needs = _dependencies(nodes)
    levels: list[tuple[str, ...]] = []
    done: set[str] = set()
    waiting = dict(sorted(needs.items()))
    while waiting:
        level = tuple(name for name, before in waiting.items() if before <= done)
        if not level:
            raise RulebookError(_cycle_problem(waiting, nodes, places or {}))
        levels.append(level)
        done.update(level)
        for name in level:
            del waiting[name]
    return tuple(levels)


def _dependencies(nodes: Mapping[str, Node]) -> dict[str, set[str]]:
    """For each producer, the producers it has to wait for."""
    writers: dict[str, set[str]] = {}
    for name, (_, writes) in nodes.items():
        for fact in writes:
            writers.setdefault(fact, set()).add(name)
    return {name: {writer for fact in reads for writer in writers.get(fact, ())} for name, (reads, _) in nodes.items()}


def _cycle_problem(
    waiting: Mapping[str, set[str]], nodes: Mapping[str, Node], places: Mapping[str, Place | None]
) -> Problem:
    """The shortest circle among producers that wait for each other, in words."""
    path = min((found for name in waiting if (found := _circle_through(name, waiting))), key=lambda p: (len(p), p))
    steps = [
        f"{writer} (sets {', '.join(sorted(nodes[writer][1] & nodes[reader][0]))})" for writer, reader in pairwise(path)
    ]
    return Problem(
        code="cycle",
        message=f"these producers wait for each other: {' -> '.join([*steps, path[-1]])}",
        place=places.get(path[0]),
        fix="let one of them read a fact that is settled earlier, or split the fact in two",
    )


def _circle_through(start: str, waiting: Mapping[str, set[str]]) -> list[str] | None:
    """The shortest path writer -> reader -> ... from ``start`` back to it, or None."""
    readers: dict[str, list[str]] = {}
    for reader in sorted(waiting):
        for writer in waiting[reader] & waiting.keys():
            readers.setdefault(writer, []).append(reader)
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        longer: list[list[str]] = []
        for path in paths:
            for reader in readers.get(path[-1], ()):
                if reader == start:
                    return [*path, start]
                if reader not in seen:
                    seen.add(reader)
                    longer.append([*path, reader])
        paths = longer
    return None


def rule_nodes(rules: Iterable[Rule]) -> dict[str, Node]:
    """What each rule reads and, for the ordering, writes.

    A rule that can silence another (through ``overrides``, or as an earlier row of a ``first`` table) counts as a
    producer of what the other sets, so that nobody reads such a fact before the conflict is settled.
    """
    rules = sorted(rules, key=lambda rule: rule.id)
    by_id = {rule.id: rule for rule in rules}
    table_writes: dict[str, frozenset[str]] = {}
    for rule in rules:
        if rule.table and rule.hit == "first":
            table_writes[rule.table] = table_writes.get(rule.table, frozenset()) | rule.writes
    nodes: dict[str, Node] = {}
    for rule in rules:
        writes = rule.writes | table_writes.get(rule.table or "", frozenset())
        for other in rule.overrides:
            writes |= by_id[other].writes if other in by_id else frozenset()
        nodes[rule.id] = (rule.reads, writes)
    return nodes


def levels(rules: Iterable[Rule]) -> tuple[tuple[Rule, ...], ...]:
    """Rules that set facts, by level, each level sorted by id.

    Raises:
        RulebookError: rules feed each other in a circle; the message shows the path.
    """
    rules = tuple(rules)
    by_id = {rule.id: rule for rule in rules}
    places = {rule.id: rule.place for rule in rules}
    return tuple(tuple(by_id[name] for name in level) for level in topological_levels(rule_nodes(rules), places))
