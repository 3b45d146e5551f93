"""Signatures of workloads: where rules read equal values, their results are reused."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.rules import Compiled, Rule, compile_expr, facts_read


Signature = tuple[Hashable, ...]


class WorkloadSide:
    """All that rules on plans make of the facts of the workload."""

    def __init__(self, rules: Iterable[Rule], *, by_value: bool = False, by_presence: bool = False) -> None:
        """Prepare.

        Args:
            rules: rules on plans.
            by_value: the rules compute with facts, so that each value counts.
            by_presence: which facts are known counts too, and not only what conditions come to.
        """
        conditions: dict[tuple[str, ...], dict[str, Compiled]] = {}
        values: set[str] = set()
        present: set[str] = set()
        for rule in rules:
            for condition in rule.when:
                reads = {name for name in facts_read(condition.expr) if "." not in name}
                present |= reads
                if len(reads) < len(facts_read(condition.expr)):
                    values |= reads
                elif reads:
                    alike = conditions.setdefault(tuple(sorted(reads)), {})
                    alike.setdefault(repr(condition.expr), compile_expr(condition.expr))
            if by_value:
                values |= {name for name in rule.reads if "." not in name}
        self._conditions = tuple(_Conditions(names, alike.values()) for names, alike in conditions.items())
        self._values = tuple(sorted(values))
        self._present = tuple(sorted(present)) if by_presence else ()

    def of(self, facts: Facts) -> Signature:
        """What distinguishes workloads on which these rules may judge a plan differently."""
        return (
            *(conditions.of(facts) for conditions in self._conditions),
            *(facts.get(name) for name in self._values),
            *(name in facts for name in self._present),
        )


class _Conditions:
    """Conditions on the same facts, judged once for equal values of these."""

    def __init__(self, names: tuple[str, ...], conditions: Iterable[Compiled]) -> None:
        self._names, self._conditions = names, tuple(conditions)
        self._known: dict[tuple[Value | None, ...], Signature] = {}

    def of(self, facts: Facts) -> Signature:
        """What they come to."""
        values = tuple([facts.get(name) for name in self._names])
        found = self._known.get(values)
        if found is None:
            found = self._known[values] = tuple(condition(facts) for condition in self._conditions)
        return found


def facts_behind(fact: str, rules: Iterable[Rule]) -> tuple[str, ...]:
    """All facts that the value of one hangs on among these rules, that one included.

    They are what is read and set by the rules that set it, by those that override these or share a table with them,
    and by those that set what any of these reads.
    """
    names, behind, tables, waiting = {fact}, set[str](), set[str](), [*rules]
    while True:
        found = [
            rule
            for rule in waiting
            if rule.writes & names or rule.table in tables or not behind.isdisjoint(rule.overrides)
        ]
        if not found:
            return tuple(sorted(names))
        behind |= {rule.id for rule in found}
        tables |= {rule.table for rule in found if rule.table}
        names = names.union(*(rule.reads | rule.writes for rule in found))
        waiting = [rule for rule in waiting if rule.id not in behind]
