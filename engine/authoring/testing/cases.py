"""The cases of the tests inside rules: their facts, and which conditions hold on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from whichgpu.engine.core import Facts, WhichgpuError
from whichgpu.engine.rules import Compiled, Each, Rule, Rulebook, RuleTest, compile_expr, facts_read, rows_above


#: From `given` and `plan` of a test (see ``RuleTest``) and the scope of its rule to all facts that the rule would see.
FactsFor = Callable[[Mapping[str, object], Mapping[str, object], Each], Facts]


#: How names of facts begin for which a plan has to be made.
_COSTLY = ("plan.", "candidate.")


class TestCases:
    """The cases of the tests inside rules: facts resolved once for equal inputs, conditions compiled once."""

    __test__ = False  # pytest would take the name for a test class

    def __init__(self, rulebook: Rulebook, facts_for: FactsFor) -> None:
        """Prepare the cases of a rulebook; ``facts_for`` resolves the facts of one."""
        self._facts_for = facts_for
        self._cache: dict[object, Facts] = {}
        self._compiled: dict[str, tuple[Compiled, ...]] = {}
        self._cheapest: dict[str, tuple[Compiled, ...]] = {}
        self.rows_above = rows_above(rulebook.rules)

    def facts(self, given: Mapping[str, object], plan: Mapping[str, object], each: Each) -> Facts:
        """The facts of one case. Raises WhichgpuError where it cannot be resolved."""
        key = (key_of(given), key_of(plan), each)
        if key not in self._cache:
            self._cache[key] = self._facts_for(given, plan, each)
        return self._cache[key]

    def of(self, rule: Rule) -> Iterator[Facts]:
        """The facts of each test of a rule that can be resolved."""
        return (facts for _, facts in self.with_facts(rule))

    def with_facts(self, rule: Rule) -> Iterator[tuple[RuleTest, Facts]]:
        """Each test of a rule that can be resolved, with its facts."""
        for test in rule.tests:
            with suppress(WhichgpuError):
                yield test, self.facts(test.given, test.plan, rule.each)

    def conditions(self, rule: Rule) -> tuple[Compiled, ...]:
        """The conditions of a rule, compiled."""
        if rule.id not in self._compiled:
            self._compiled[rule.id] = tuple(compile_expr(condition.expr) for condition in rule.when)
        return self._compiled[rule.id]

    def cheapest_first(self, rule: Rule) -> tuple[Compiled, ...]:
        """A rule's conditions, compiled; those that read no plan or answer come first, as they cost least to judge."""
        if rule.id not in self._cheapest:
            pairs = zip(rule.when, self.conditions(rule), strict=True)
            costs = [(any(name.startswith(_COSTLY) for name in facts_read(c.expr)), test) for c, test in pairs]
            self._cheapest[rule.id] = tuple(test for _, test in sorted(costs, key=lambda cost: cost[0]))
        return self._cheapest[rule.id]

    def row_before(self, rule: Rule, facts: Facts) -> Rule | None:
        """The row above that takes the case, where only the first row of a table counts."""
        above = self.rows_above.get(rule.id, ())
        return next((row for row in above if all(test(facts) is True for test in self.conditions(row))), None)

    def holds(self, rule: Rule, facts: Facts) -> bool:
        """Whether all conditions of a rule are true."""
        return all(test(facts) is True for test in self.cheapest_first(rule))

    def fires(self, rule: Rule, facts: Facts) -> bool:
        """Whether a rule fires, as far as its conditions and the rows above it go."""
        return self.holds(rule, facts) and self.row_before(rule, facts) is None


def key_of(facts: Mapping[str, object]) -> tuple[tuple[str, str, object], ...]:
    """Equal for equal facts; the type's name distinguishes ``True`` from ``1``."""
    return tuple((name, type(value).__name__, value) for name, value in sorted(facts.items()))
