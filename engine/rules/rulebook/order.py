"""The order in which producers of facts run: nothing may run in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, permutations

from whichgpu.engine.core import Place, Problem, RulebookError
from whichgpu.engine.rules.rulebook.model import Rule


#: A producer: what it reads, what it writes.
Node = tuple[AbstractSet[str], AbstractSet[str]]


def topological_levels(
    nodes: Mapping[str, Node], places: Mapping[str, Place | None] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Producers by level, each level sorted by name: level 0 reads only what nothing produces.

    A producer comes after *all* producers of every fact that it reads.

    Args:
        nodes: name of the producer to (facts read, facts written).
        places: where a producer is written, for the error.

    Raises:
        RulebookError: producers feed each other in a circle; the message shows the path.
    """
    writers: dict[str, set[str]] = {}
    for name, (_, writes) in nodes.items():
        for fact in writes:
            writers.setdefault(fact, set()).add(name)
    needs = {name: {w for fact in reads for w in writers.get(fact, ())} for name, (reads, _) in nodes.items()}
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError:
        raise RulebookError(_cycle_problem(needs, nodes, places or {})) from None
    levels: list[tuple[str, ...]] = []
    while sorter.is_active():
        levels.append(tuple(sorted(sorter.get_ready())))
        sorter.done(*levels[-1])
    return tuple(levels)


def _cycle_problem(
    needs: Mapping[str, set[str]], nodes: Mapping[str, Node], places: Mapping[str, Place | None]
) -> Problem:
    """The shortest circle among producers that wait for each other, in words."""
    readers = {writer: [reader for reader in sorted(needs) if writer in needs[reader]] for writer in needs}
    path = min((found for name in needs if (found := shortest_circle(name, readers))), key=lambda p: (len(p), p))
    steps = [
        f"{writer} (sets {', '.join(sorted(nodes[writer][1] & nodes[reader][0]))})" for writer, reader in pairwise(path)
    ]
    return Problem(
        code="cycle",
        message=f"these producers wait for each other: {' -> '.join([*steps, path[-1]])}",
        place=places.get(path[0]),
        fix="let one of them read a fact that is resolved earlier, or split the fact in two",
    )


def shortest_circle(start: str, after: Mapping[str, Iterable[str]]) -> list[str] | None:
    """The shortest path from ``start``, by way of what comes ``after`` each step, back to it; None if there is none."""
    paths = [[start]]
    seen: set[str] = set()
    for path in paths:  # Grows as it is walked, so that shorter paths come before longer ones.
        for step in after.get(path[-1], ()):
            if step == start:
                return [*path, start]
            if step not in seen:
                seen.add(step)
                paths.append([*path, step])
    return None


def rule_nodes(rules: Iterable[Rule]) -> dict[str, Node]:
    """What each rule reads and writes, for the ordering.

    Rules that contend (they set one fact, one overrides the other, or they are rows of one ``first`` table) have to be
    resolved together, so they share what any of them reads and writes: they end up on one level, and nothing reads what
    they set before the conflict is resolved.
    """
    nodes: dict[str, Node] = {}
    for group in contending(rules):
        reads = frozenset(fact for rule in group for fact in rule.reads)
        writes = frozenset(fact for rule in group for fact in rule.writes)
        nodes.update((rule.id, (reads, writes)) for rule in group)
    return dict(sorted(nodes.items()))


def contending(rules: Iterable[Rule]) -> tuple[tuple[Rule, ...], ...]:
    """The rules in groups that have to be resolved together, each group sorted by id."""
    by_id = {rule.id: rule for rule in sorted(rules, key=lambda rule: rule.id)}
    leader = {name: name for name in by_id}

    def lead(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    first_contender: dict[tuple[str, str], str] = {}
    for name, rule in by_id.items():
        contended = [("fact", fact) for fact in rule.writes]
        contended += [("rule", other) for other in (name, *rule.overrides) if other in by_id]
        contended += [("table", rule.table)] if rule.table and rule.hit == "first" else []
        for what in sorted(contended):
            leader[lead(name)] = lead(first_contender.setdefault(what, name))
    groups: dict[str, list[Rule]] = {}
    for name, rule in by_id.items():
        groups.setdefault(lead(name), []).append(rule)
    return tuple(tuple(group) for group in groups.values())


def check_contenders(rules: Iterable[Rule]) -> tuple[Problem, ...]:
    """Contending rules of which one needs what another sets: they can neither run together nor one after the other."""
    problems: list[Problem] = []
    for group in contending(rules):
        for reader, writer in permutations(group, 2):
            if both := reader.reads & writer.writes:
                fact = min(both)
                message = (
                    f"{reader.id} reads `{fact}`, which {writer.id} sets, and the two contend with each other: "
                    f"they set one fact, override each other, or share a `first` table"
                )
                fix = "split one of them, so that what is read and what is contended come from different rules"
                problems.append(Problem("tangled-rules", message, reader.place, fact, fix=fix))
    return tuple(problems)


def levels(rules: Iterable[Rule]) -> tuple[tuple[Rule, ...], ...]:
    """Rules that set facts, by level, each level sorted by id. Rules that contend are on one level.

    Raises:
        RulebookError: rules feed each other in a circle; the message shows the path.
    """
    rules = tuple(rules)
    problems = check_contenders(rules)
    if problems:
        raise RulebookError(problems)
    by_id = {rule.id: rule for rule in rules}
    places = {rule.id: rule.place for rule in rules}
    return tuple(tuple(by_id[name] for name in level) for level in topological_levels(rule_nodes(rules), places))


def rows_above(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    """For each row of a ``first`` table the rows above it, in their order. No other rule stands in it."""
    tables: dict[str, list[Rule]] = {}
    for rule in sorted(rules, key=lambda rule: rule.row):
        if rule.table is not None and rule.hit == "first":
            tables.setdefault(rule.table, []).append(rule)
    return {row.id: tuple(rows[:at]) for rows in tables.values() for at, row in enumerate(rows)}
