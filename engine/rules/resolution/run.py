"""Resolving: producers ordered so that each runs after all that it reads, and run until all is known that can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from whichgpu.engine.core import Calculator, Facts, Value
from whichgpu.engine.rules.inference.firing import Level as RuleLevel, fire
from whichgpu.engine.rules.language import Compiled, compile_expr, facts_read
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.resolution.model import (
    PRECEDENCE,
    FactCandidate,
    LevelJudgement,
    ResolvedFact,
    ResolvedFacts,
)
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.order import Node, rule_nodes, topological_levels
from whichgpu.engine.rules.rulebook.resolve import Collision, Resolver


class Default(Struct, frozen=True):
    """A value to assume for a fact that nothing else resolves. ``when`` None: always."""

    fact: str
    value: Value
    because: str
    when: Expr | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The facts that its condition looks at."""
        return frozenset() if self.when is None else facts_read(self.when)


class Level(Struct, frozen=True):
    """Producers that may run together, and the facts that are resolved once they have."""

    calculators: tuple[Calculator, ...]
    rules: tuple[Rule, ...]
    defaults: tuple[Default, ...]
    closes: tuple[str, ...]


def build_levels(
    calculators: Iterable[Calculator], rules: Iterable[Rule], defaults: Iterable[Default]
) -> tuple[Level, ...]:
    """Order the producers.

    Raises:
        RulebookError: producers feed each other in a circle; the message shows the path.
    """
    rules = tuple(rules)
    by_calculator = {f"calculator {item.output}": item for item in calculators}
    by_default = {f"default {item.fact} {number}": item for number, item in enumerate(defaults)}
    by_rule = {rule.id: rule for rule in rules}
    nodes: dict[str, Node] = dict(rule_nodes(rules))
    nodes |= {name: (frozenset(c.needs + c.uses), frozenset((c.output,))) for name, c in by_calculator.items()}
    nodes |= {name: (d.reads - {d.fact}, frozenset((d.fact,))) for name, d in by_default.items()}
    order = topological_levels(nodes, {rule.id: rule.place for rule in rules})
    # For each produced fact, the level of its last producer.
    closing = {fact: depth for depth, names in enumerate(order) for name in names for fact in nodes[name][1]}
    return tuple(
        Level(
            calculators=tuple(by_calculator[name] for name in names if name in by_calculator),
            rules=tuple(by_rule[name] for name in names if name in by_rule),
            defaults=tuple(by_default[name] for name in names if name in by_default),
            closes=tuple(sorted(fact for fact, level in closing.items() if level == depth)),
        )
        for depth, names in enumerate(order)
    )


#: Prepares the rules of one level to be fired.
MakeLevel = Callable[[tuple[Rule, ...]], RuleLevel]


#: What calculators made of which values of their facts, by the fact that they compute.
Calculated = dict[tuple[str, tuple[Value | None, ...]], Value | None]


class _Step(Struct, frozen=True):
    level: Level
    compiled: RuleLevel | None
    resolver: Resolver


@dataclass(slots=True)
class _Run:
    """The mutable state of resolving one set of facts."""

    facts: dict[str, Value]
    resolved: dict[str, ResolvedFact]
    context: dict[str, Value]
    calculated: Calculated | None = None
    candidates: dict[str, list[FactCandidate]] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)
    fired: list[Rule] = field(default_factory=list)
    collisions: list[Collision] = field(default_factory=list)
    judged: list[LevelJudgement] = field(default_factory=list)

    def propose(self, fact: str, candidate: FactCandidate) -> None:
        self.candidates.setdefault(fact, []).append(candidate)

    def close(self, fact: str) -> None:
        """Give the fact the value of its strongest candidate; weaker ones that differ are kept beside it."""
        candidates = self.candidates.pop(fact, [])
        if len(candidates) > 1:
            candidates.sort(key=lambda c: (PRECEDENCE.index(c.origin), c.by))
        if fact in self.resolved:
            candidates.insert(0, self.resolved[fact].candidate)
        if not candidates:
            return
        best, *weaker = candidates
        overruled = tuple([c for c in weaker if c.value != best.value and c.origin != "assumed"])
        self.resolved[fact] = ResolvedFact(fact, best, overruled)
        self.facts[fact] = best.value


class FactResolver:
    """The producers of one moment (intake, survey or outcome), prepared once and run for every decision."""

    def __init__(
        self,
        calculators: Iterable[Calculator],
        rules: Iterable[Rule],
        defaults: Iterable[Default],
        make_level: MakeLevel,
    ) -> None:
        """Order the producers and compile the rules of each level.

        Raises:
            RulebookError: producers feed each other in a circle.
        """
        defaults, self.rules = tuple(defaults), tuple(rules)
        self.levels = build_levels(calculators, self.rules, defaults)
        self._defaults: dict[str, list[tuple[Default, Compiled | None]]] = {}
        for default in defaults:
            when = None if default.when is None else compile_expr(default.when)
            self._defaults.setdefault(default.fact, []).append((default, when))
        self._steps = [
            _Step(level, make_level(level.rules) if level.rules else None, Resolver(level.rules))
            for level in self.levels
        ]
        self._closing = {fact: depth for depth, level in enumerate(self.levels) for fact in level.closes}

    def run(
        self,
        given: Mapping[str, Value],
        *,
        extra: Mapping[str, list[FactCandidate]] | None = None,
        before: ResolvedFacts | None = None,
        context: Facts | None = None,
    ) -> ResolvedFacts:
        """Resolve.

        Args:
            given: facts that were stated; nothing overrules them.
            extra: further candidates for facts, such as what a catalogue says, weighed by their origin.
            before: what was resolved at an earlier moment; it stands.
            context: facts of another scope (the chosen plan's, say) that the rules may read as well.
        """
        return self.begin(given, extra=extra, before=before, context=context).finished()

    def begin(
        self,
        given: Mapping[str, Value],
        *,
        extra: Mapping[str, list[FactCandidate]] | None = None,
        before: ResolvedFacts | None = None,
        context: Facts | None = None,
        calculated: Calculated | None = None,
    ) -> Resolving:
        """The same, level by level as facts are asked for: for who reads a few of them. Arguments as for ``run``.

        ``calculated`` spares and remembers what calculators compute: for who resolves variations of one workload.
        """
        known = (dict(before.facts), dict(before.resolved)) if before else ({}, {})
        run = _Run(*known, dict(context or {}), calculated)
        for name in sorted(given):
            run.propose(name, FactCandidate("given", "input", given[name]))
            run.close(name)
        extra = extra or {}
        for name in _inputs_first(extra):
            for candidate in extra[name]:
                run.propose(name, candidate)
            if name not in self._closing:
                run.close(name)
        return Resolving(run, self._steps, self._closing, self._take)

    def _take(self, step: _Step, run: _Run) -> None:
        """One level: its producers put candidates forward, and the facts for which no more can come are closed."""
        _calculate(step.level, run)
        if step.compiled is not None:
            _fire(step, step.compiled, run)
        for fact in step.level.closes:
            if defaults := self._defaults.get(fact):
                _assume(defaults, run)
            if fact not in run.blocked:
                run.close(fact)


class Resolving:
    """Facts on their way to being resolved. A fact is final once the level that closes it was taken, and no sooner."""

    def __init__(
        self, run: _Run, steps: Sequence[_Step], closing: Mapping[str, int], take: Callable[[_Step, _Run], None]
    ) -> None:
        self._run = run
        self._steps = steps
        self._closing = closing
        self._take = take
        self._taken = 0

    def fact(self, name: str) -> Value | None:
        """The value of a fact, for which as many levels are taken as it needs; None where it stays unknown."""
        self._advance(self._closing.get(name, -1) + 1)
        return self._run.facts.get(name)

    def finished(self) -> ResolvedFacts:
        """All facts, once every level was taken."""
        self._advance(len(self._steps))
        run = self._run
        return ResolvedFacts(run.facts, run.resolved, tuple(run.fired), tuple(run.collisions), tuple(run.judged))

    def _advance(self, depth: int) -> None:
        while self._taken < depth:
            self._take(self._steps[self._taken], self._run)
            self._taken += 1


def _inputs_first(extra: Mapping[str, list[FactCandidate]]) -> list[str]:
    """The facts with candidates, each behind those that it is made from: a trace lists them as they are resolved."""
    order: dict[str, None] = {}
    waiting: set[str] = set()

    def place(name: str) -> None:
        if name in order or name in waiting or name not in extra:
            return
        waiting.add(name)
        for source in sorted({source for candidate in extra[name] for source in candidate.inputs}):
            place(source)
        order[name] = None

    for name in sorted(extra):
        place(name)
    return list(order)


def _calculate(level: Level, run: _Run) -> None:
    if not level.calculators:
        return
    facts = run.facts | run.context
    for calculator in level.calculators:
        if all(name in facts for name in calculator.needs):
            names = calculator.needs + calculator.uses
            value = _calculated(calculator, tuple([facts.get(name) for name in names]), run.calculated)
            if value is not None:
                inputs = tuple(name for name in names if name in facts)
                run.propose(
                    calculator.output,
                    FactCandidate("computed", calculator.name, value, inputs, calculator.formula, (calculator.source,)),
                )


def _calculated(calculator: Calculator, values: tuple[Value | None, ...], before: Calculated | None) -> Value | None:
    key = calculator.output, values
    if before is not None and key in before:
        return before[key]
    value: Value | None = calculator.function(**dict(zip(calculator.needs + calculator.uses, values, strict=True)))
    if before is not None:
        before[key] = value
    return value


def _fire(step: _Step, compiled: RuleLevel, run: _Run) -> None:
    firing = fire(compiled, run.facts, [run.context], ["workload"])
    resolution = step.resolver.resolve(firing.matches[0], run.facts | run.context)
    run.judged.append(LevelJudgement(firing.evaluation, resolution))
    by_id = compiled.rules
    run.fired.extend(by_id[name] for name in resolution.fired)
    run.collisions.extend(resolution.collisions)
    run.blocked.update(c.fact for c in resolution.collisions if c.fact not in run.resolved)
    for fact, value in resolution.values.items():
        rule = by_id[resolution.set_by[fact][0]]
        inputs = tuple(sorted(rule.reads))
        run.propose(fact, FactCandidate("derived", rule.id, value, inputs, sources=rule.sources))


def _assume(defaults: Iterable[tuple[Default, Compiled | None]], run: _Run) -> None:
    """The first default of a fact that applies; of use only where no stronger candidate stands."""
    for default, when in defaults:
        if default.fact in run.resolved or run.candidates.get(default.fact):
            return
        if when is None or when(run.facts) is True:
            reads = tuple(sorted(default.reads))
            run.propose(default.fact, FactCandidate("assumed", "vocabulary", default.value, reads, default.because))
