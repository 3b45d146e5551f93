"""How far the facts are resolved while some are open: every producer run on what its inputs may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from whichgpu.engine.core import Calculator, Facts, Value, is_number
from whichgpu.engine.interview.possible_outcomes import OpenFacts, combinations, overlays, truth_values_of
from whichgpu.engine.interview.rule_index import Producers, RuleIndex, RuleView, written_constants
from whichgpu.engine.rules import Default, ResolvedFacts, evaluate, facts_read


_MOST_RUNS = 64


class _Anything(Exception):  # noqa: N818  (control flow inside this module; it never leaves it)
    pass


def open_facts_over(rule_index: RuleIndex, intake: ResolvedFacts, open_names: Iterable[str]) -> OpenFacts:
    """The open facts and all that depend on them, with what each may be.

    Args:
        rule_index: rules and producers.
        intake: the facts resolved with the open ones left out.
        open_names: askable facts whose answer is not in.
    """
    open_facts = OpenFacts()
    waiting = set(open_names)
    # Those that nothing produces come first: whatever is produced may read them.
    for name in sorted(waiting - {producers.fact for producers in rule_index.producers}):
        own = rule_index.values[name]
        open_facts.add(name, None if own is None else _sorted({*own, intake.facts.get(name)}), (name,))
    for producers in rule_index.producers:
        _resolve(rule_index, producers, intake, open_facts, waiting)
    return open_facts


def live_rules(rule_index: RuleIndex, names: Iterable[str], facts: Facts, open_facts: OpenFacts) -> list[RuleView]:
    """The rules on plans, counts and remarks that read any of these facts and may still hold."""
    views = (*rule_index.rejecting, *rule_index.preferring, *rule_index.advising, *rule_index.counting)
    reading = (rule for rule in views if not rule.reads.isdisjoint(names))
    return [rule for rule in reading if True in truth_values_of(rule.shared, facts, open_facts)]


def _resolve(
    rule_index: RuleIndex, producers: Producers, intake: ResolvedFacts, open_facts: OpenFacts, waiting: set[str]
) -> None:
    fact = producers.fact
    known = intake.resolved.get(fact)
    origin = known.candidate.origin if known else None
    if origin == "given":
        return
    found = _Range(rule_index, producers, intake.facts, open_facts, {intake.facts.get(fact)})
    anything = False
    if fact in waiting:
        found.causes.add(fact)
    if origin != "looked_up":
        try:
            found.add_producers(origin)
        except _Anything:
            anything = True
    if fact in waiting:
        own = rule_index.values[fact]
        found.values |= set(own or ())
        anything = anything or own is None
    if found.causes:
        open_facts.add(fact, None if anything else _sorted(found.values), found.causes)


@dataclass(slots=True)
class _Range:
    """What the producers of a fact might say, and the askable facts on which that depends."""

    rule_index: RuleIndex
    producers: Producers
    facts: Facts
    open_facts: OpenFacts
    values: set[Value | None]
    causes: set[str] = field(default_factory=set)

    def add_producers(self, origin: str | None) -> None:
        computed = False
        for calculator in self.producers.calculators:
            inputs = calculator.needs + calculator.uses
            if self.open_facts.hides(inputs):
                self.causes |= self.open_facts.behind(inputs)
                self.values |= self._computed(calculator)
            else:
                computed = origin == "computed"
        if computed:
            return  # Rules and defaults say nothing against what is computed.
        for view in self.producers.rules:
            self._add_rule(view)
        for default in self.producers.defaults:
            self._add_default(default)
        if self.causes - {self.producers.fact}:
            self.values.add(None)

    def _add_rule(self, view: RuleView) -> None:
        truth_values = truth_values_of(view.lines, self.facts, self.open_facts)
        for expr, reads in written_constants(view, self.producers.fact) if True in truth_values else ():
            if self.open_facts.hides(reads):
                self.causes |= self.open_facts.behind(reads | view.reads)
                raise _Anything
            if len(truth_values) > 1:
                self.causes |= self.open_facts.behind(view.reads)
                self.values.add(evaluate(expr, self.facts))

    def _add_default(self, default: Default) -> None:
        reads = facts_read(default.when) if default.when is not None else frozenset()
        if self.open_facts.hides(reads):
            self.causes |= self.open_facts.behind(reads) - {default.fact}
            self.values.add(default.value)
        elif default.when is None or evaluate(default.when, self.facts) is True:
            self.values.add(default.value)

    def _computed(self, calculator: Calculator) -> set[Value | None]:
        """What a calculator can say: at every joint value of its open inputs, and all between where it is monotone."""
        inputs = calculator.needs + calculator.uses
        hidden = sorted(name for name in inputs if name in self.open_facts.values)
        numeric = [name for name in hidden if self.rule_index.advisor.vocabulary.facts[name].numeric]
        if (
            any(self.open_facts.values[name] is None for name in hidden)
            or any(calculator.trends.get(name, "mixed") == "mixed" for name in numeric)
            or combinations(hidden, self.open_facts) > _MOST_RUNS
        ):
            raise _Anything
        results: set[Value | None] = set()
        for overlay in overlays(hidden, self.open_facts):
            seen: Mapping[str, Value | None] = {**{name: self.facts.get(name) for name in inputs}, **overlay}
            lacking = any(seen[name] is None for name in calculator.needs)
            results.add(None if lacking else calculator.function(**seen))
        numbers = [float(value) for value in results if is_number(value)]
        if numeric and numbers:
            between = self.rule_index.values.get(calculator.output) or ()
            low, high = min(numbers), max(numbers)
            results |= {v for v in between if isinstance(v, int | float) and low <= v <= high}
        return results


def _sorted(values: set[Value | None]) -> tuple[Value | None, ...]:
    return tuple(sorted(values, key=lambda value: (value is not None, type(value).__name__, str(value))))
