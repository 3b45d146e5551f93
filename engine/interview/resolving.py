"""How far the facts are resolved while some are open: every producer run on what its inputs may be."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from whichgpu.engine.core.calculators import Calculator
from whichgpu.engine.core.values import Facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.possible_outcomes import OpenFacts
from whichgpu.engine.interview.possible_outcomes import combinations
from whichgpu.engine.interview.possible_outcomes import overlays
from whichgpu.engine.interview.possible_outcomes import truths_of
from whichgpu.engine.interview.rule_index import Producers
from whichgpu.engine.interview.rule_index import RuleIndex
from whichgpu.engine.interview.rule_index import RuleView
from whichgpu.engine.interview.rule_index import written_constants
from whichgpu.engine.rules.language import evaluate
from whichgpu.engine.rules.language import facts_read
from whichgpu.engine.rules.resolution.model import ResolvedFacts
from whichgpu.engine.rules.resolution.run import Default


_MOST_RUNS = 64


class _Anything(Exception):  # noqa: N818  (control flow inside this module; it never leaves it)
    pass


def open_facts_over(rule_index: RuleIndex, intake: ResolvedFacts, open_names: Iterable[str]) -> OpenFacts:
    """The open facts and all that depend on them, with what each may be.

    Args:
        rule_index: rules and producers.
        intake: the facts settled with the open ones left out.
        open_names: askable facts whose answer is not in.
    """
    open_facts = OpenFacts()
    waiting = set(open_names)
    # Those that nothing produces come first: whatever is produced may read them.
    for name in sorted(waiting - {producers.fact for producers in rule_index.producers}):
        _range(rule_index, name, intake.facts.get(name), open_facts)
    for producers in rule_index.producers:
        _resolve(rule_index, producers, intake, open_facts, waiting)
    return open_facts


def _resolve(
    rule_index: RuleIndex, producers: Producers, intake: ResolvedFacts, open_facts: OpenFacts, waiting: set[str]
) -> None:
    fact = producers.fact
    settled = intake.settled.get(fact)
    origin = settled.claim.origin if settled else None
    if origin == "given":
        return
    ranges = fact in waiting
    values: set[Value | None] = {intake.facts.get(fact)}
    causes: set[str] = {fact} if ranges else set()
    anything = False
    if origin != "looked_up":
        try:
            _add_producers(rule_index, producers, origin, intake.facts, open_facts, values, causes)
        except _Anything:
            anything = True
    if ranges:
        own = rule_index.values[fact]
        values |= set(own or ())
        anything = anything or own is None
    if causes:
        open_facts.add(fact, None if anything else _sorted(values), causes)


def _add_producers(
    rule_index: RuleIndex,
    producers: Producers,
    origin: str | None,
    facts: Facts,
    open_facts: OpenFacts,
    values: set[Value | None],
    causes: set[str],
) -> None:
    """Add what the producers of a fact might say, and the askable facts on which that depends."""
    computed = False
    for calculator in producers.calculators:
        inputs = calculator.needs + calculator.uses
        if open_facts.hides(inputs):
            causes |= open_facts.behind(inputs)
            values |= _computed(rule_index, calculator, facts, open_facts)
        else:
            computed = origin == "computed"
    if computed:
        return  # Rules and defaults say nothing against what is computed.
    for view in producers.rules:
        _add_rule(view, producers.fact, facts, open_facts, values, causes)
    for default in producers.defaults:
        _add_default(default, facts, open_facts, values, causes)
    if causes - {producers.fact}:
        values.add(None)


def _add_rule(
    view: RuleView, fact: str, facts: Facts, open_facts: OpenFacts, values: set[Value | None], causes: set[str]
) -> None:
    truths = truths_of(view.lines, facts, open_facts)
    may = True in truths
    undecided = len(truths) > 1 and may
    for expr, reads in written_constants(view, fact):
        if not may:
            continue
        if open_facts.hides(reads):
            causes |= open_facts.behind(reads | view.reads)
            raise _Anything
        if undecided:
            causes |= open_facts.behind(view.reads)
            values.add(evaluate(expr, facts))


def _add_default(
    default: Default, facts: Facts, open_facts: OpenFacts, values: set[Value | None], causes: set[str]
) -> None:
    if default.when is None:
        values.add(default.value)
        return
    reads = facts_read(default.when)
    if open_facts.hides(reads):
        causes |= open_facts.behind(reads) - {default.fact}
        values.add(default.value)
    elif evaluate(default.when, facts) is True:
        values.add(default.value)


def _computed(rule_index: RuleIndex, calculator: Calculator, facts: Facts, open_facts: OpenFacts) -> set[Value | None]:
    """What a calculator can say: at every joint value of its open inputs, and all between where it is monotone."""
    inputs = calculator.needs + calculator.uses
    hidden = sorted(name for name in inputs if name in open_facts.values)
    numeric = [name for name in hidden if rule_index.advisor.vocabulary.facts[name].numeric]
    if (
        any(open_facts.values[name] is None for name in hidden)
        or any(calculator.trends.get(name, "mixed") == "mixed" for name in numeric)
        or combinations(hidden, open_facts) > _MOST_RUNS
    ):
        raise _Anything
    results: set[Value | None] = set()
    for overlay in overlays(hidden, open_facts):
        seen: Mapping[str, Value | None] = {**{name: facts.get(name) for name in inputs}, **overlay}
        lacking = any(seen[name] is None for name in calculator.needs)
        results.add(None if lacking else calculator.function(**seen))
    numbers = [float(value) for value in results if isinstance(value, int | float) and not isinstance(value, bool)]
    if numeric and numbers:
        between = rule_index.values.get(calculator.output) or ()
        low, high = min(numbers), max(numbers)
        results |= {v for v in between if isinstance(v, int | float) and low <= v <= high}
    return results


def _range(rule_index: RuleIndex, name: str, fallback: Value | None, open_facts: OpenFacts) -> None:
    own = rule_index.values[name]
    open_facts.add(name, None if own is None else _sorted({*own, fallback}), (name,))


def _sorted(values: set[Value | None]) -> tuple[Value | None, ...]:
    return tuple(sorted(values, key=lambda value: (value is not None, type(value).__name__, str(value))))
