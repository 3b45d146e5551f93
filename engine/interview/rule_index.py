"""What the interview has to know of rules and producers: prepared once, read at every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import Calculator, Value
from whichgpu.engine.rules import (
    Compiled,
    Default,
    Expr,
    Fallback,
    Points,
    Rule,
    SetFact,
    compile_expr,
    conditions_of,
    constants_compared,
    facts_read,
    overriders,
    read_jointly,
    representatives,
    rows_above,
)


#: The fact that says whether to rent or to buy.
VERDICT = "procurement"

#: What a prefer rule says of a plan beside points: that it is a last choice, or that a guide names its cards or count.
Mark = Literal["fallback", "cards", "counts"]


class Line(Struct, frozen=True):
    """One condition of a rule: how it is tested, and what it reads."""

    expr: Expr
    test: Compiled
    reads: frozenset[str]
    blind: frozenset[str]  # facts that it reads otherwise than by comparing them with constants
    local: bool  # whether it reads facts of a plan or GPU


class RuleView(Struct, frozen=True):
    """A rule with its lines prepared."""

    rule: Rule
    lines: tuple[Line, ...]
    shared: tuple[Line, ...]  # those that read workload facts alone
    local: tuple[Line, ...]  # those that read facts of a plan or GPU
    awards: tuple[Points, ...]  # one with a claim gives none to a plan whose cost and time are computed
    marks: frozenset[Mark]
    reads: frozenset[str]


class Producers(Struct, frozen=True):
    """Everything that may resolve one fact at intake."""

    fact: str
    calculators: tuple[Calculator, ...]
    rules: tuple[RuleView, ...]
    defaults: tuple[Default, ...]


class ProcurementRules(Struct, frozen=True):
    """The rules that give the verdict on renting and owning, and which of them prevail over which."""

    views: tuple[RuleView, ...]
    earlier: Mapping[str, frozenset[str]]  # rows before it in a table of which the first row counts
    above: Mapping[str, frozenset[str]]  # rules that override it


@dataclass(frozen=True)
class RuleIndex:
    """The rulebook and the producers, seen from the facts."""

    advisor: Advisor
    ranging: tuple[str, ...]  # facts that the interview may ask of its own accord
    values: Mapping[str, tuple[Value, ...] | None]  # what each fact may be; None: anything
    producers: tuple[Producers, ...]  # in the order in which facts resolve
    counting: tuple[RuleView, ...]  # derive rules that want further counts planned
    contradicting: tuple[RuleView, ...]
    rejecting: tuple[RuleView, ...]
    preferring: tuple[RuleView, ...]
    above: Mapping[str, frozenset[str]]  # prefer rules by those that override them
    advising: tuple[RuleView, ...]  # advise rules that set a fact
    procurement_rules: ProcurementRules
    readers: Mapping[str, int]  # how many rules read each fact
    asked_when: Mapping[str, Line]  # facts that make sense only under a condition


def index_rules(advisor: Advisor) -> RuleIndex:
    """Prepare the rule index of an advisor."""
    rulebook, facts = advisor.rulebook, advisor.vocabulary.facts
    views = {rule.id: view_of(rule) for rule in rulebook.rules}
    stages = advisor.stages
    defaults = [d.when for level in stages.intake.levels for d in level.defaults if d.when is not None]
    compared = constants_compared([*(line.expr for rule in rulebook.rules for line in rule.when), *defaults])
    return RuleIndex(
        advisor=advisor,
        ranging=tuple(sorted(name for name, fact in facts.items() if fact.ranges)),
        values={name: representatives(fact, compared.get(name, frozenset())) for name, fact in facts.items()},
        producers=_producers(advisor, views),
        counting=_views(views, (r for r in rulebook.of_stage("derive", "workload") if not r.writes)),
        contradicting=_views(views, stages.contradictions.rules),
        rejecting=_views(views, stages.reject.rules),
        preferring=_views(views, stages.prefer.rules),
        above=overriders({rule.id: rule for rule in stages.prefer.rules}),
        advising=_views(views, (r for level in stages.outcome_of_chosen.levels for r in level.rules if r.writes)),
        procurement_rules=_procurement_rules(_views(views, (r for r in rulebook.rules if VERDICT in r.writes))),
        readers=Counter(name for rule in rulebook.rules for name in rule.reads),
        asked_when={
            name: line_of(expr) for name, expr in conditions_of(advisor.vocabulary).questions.items() if name in facts
        },
    )


def view_of(rule: Rule) -> RuleView:
    """A rule prepared for the interview."""
    lines = tuple(line_of(condition.expr) for condition in rule.when)
    awards = tuple(effect for effect in rule.effects if isinstance(effect, Points))
    marks: set[Mark] = {award.band for award in awards if award.band is not None and award.points > 0}
    if any(isinstance(effect, Fallback) for effect in rule.effects):
        marks.add("fallback")
    return RuleView(
        rule,
        lines,
        shared=tuple(line for line in lines if not line.local),
        local=tuple(line for line in lines if line.local),
        awards=awards,
        marks=frozenset(marks),
        reads=rule.reads,
    )


def written_constants(view: RuleView, fact: str) -> tuple[tuple[Expr, frozenset[str]], ...]:
    """The expressions by which a rule sets a fact, each with the facts that it reads."""
    return tuple(
        (effect.expr, frozenset(facts_read(effect.expr)))
        for effect in view.rule.effects
        if isinstance(effect, SetFact) and effect.fact == fact
    )


def line_of(expr: Expr) -> Line:
    """A condition prepared for the interview."""
    reads = frozenset(facts_read(expr))
    return Line(expr, compile_expr(expr), reads, read_jointly(expr), any("." in name for name in reads))


def _views(views: Mapping[str, RuleView], rules: Iterable[Rule]) -> tuple[RuleView, ...]:
    return tuple(views[rule.id] for rule in sorted(rules, key=lambda rule: rule.id))


def _producers(advisor: Advisor, views: Mapping[str, RuleView]) -> tuple[Producers, ...]:
    levels = advisor.stages.intake.levels
    calculators = [item for level in levels for item in level.calculators]
    rules = [rule for level in levels for rule in level.rules]
    defaults = [item for level in levels for item in level.defaults]
    return tuple(
        Producers(
            fact,
            tuple(item for item in calculators if item.output == fact),
            _views(views, (rule for rule in rules if fact in rule.writes)),
            tuple(item for item in defaults if item.fact == fact),
        )
        for level in levels
        for fact in level.closes
    )


def _procurement_rules(views: tuple[RuleView, ...]) -> ProcurementRules:
    rules = {view.rule.id: view.rule for view in views}
    above, rows = overriders(rules), rows_above(rules.values())
    earlier = {name: frozenset(row.id for row in rows.get(name, ())) for name in rules}
    return ProcurementRules(views, earlier, {name: above.get(name, frozenset()) for name in rules})
