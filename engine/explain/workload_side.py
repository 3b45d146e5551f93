"""What rules on plans make of the facts of a workload: where that is the same they judge the same plans alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from whichgpu.engine.core import Facts
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
        conditions: dict[str, Compiled] = {}
        values: set[str] = set()
        present: set[str] = set()
        for rule in rules:
            for condition in rule.when:
                reads = {name for name in facts_read(condition.expr) if "." not in name}
                present |= reads
                if len(reads) < len(facts_read(condition.expr)):
                    values |= reads
                elif reads:
                    conditions.setdefault(repr(condition.expr), compile_expr(condition.expr))
            if by_value:
                values |= {name for name in rule.reads if "." not in name}
        self._conditions = tuple(conditions.values())
        self._values = tuple(sorted(values))
        self._present = tuple(sorted(present)) if by_presence else ()

    def of(self, facts: Facts) -> Signature:
        """What distinguishes workloads on which these rules may judge a plan differently."""
        return (
            *(condition(facts) for condition in self._conditions),
            *(facts.get(name) for name in self._values),
            *(name in facts for name in self._present),
        )
