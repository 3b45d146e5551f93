"""Where rules fire: as formulas over the facts that people state, with the derive rules put in for what they derive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy

from msgspec import Struct

from whichgpu.engine.authoring.lint.comparisons import OPAQUE
from whichgpu.engine.authoring.lint.formulas import (
    FALSE,
    ITEM,
    All,
    Conditions,
    Formula,
    Literal,
    both,
    either,
    literal,
    opposite,
)
from whichgpu.engine.authoring.lint.linear import GaveUp
from whichgpu.engine.authoring.lint.search import solvable, solve
from whichgpu.engine.core import Scalar, Value
from whichgpu.engine.rules import (
    Const,
    Domains,
    Expr,
    Rule,
    Rulebook,
    SetFact,
    Vocabulary,
    constants,
    overriders,
    rows_above,
)


#: A workload that shows a finding: values by fact; None for a fact that has to be unknown.
Example = Mapping[str, Value | None]


class Case(Struct, frozen=True):
    """A case that was searched for. ``certain``: no comparison outside the algebra has to come out in some way."""

    example: Example
    certain: bool


class Regions:
    """The regions of one rulebook's rules."""

    def __init__(
        self,
        rulebook: Rulebook,
        vocabulary: Vocabulary,
        computed: Iterable[str] = (),
        extra: Iterable[tuple[str, Scalar]] = (),
    ) -> None:
        """Prepare.

        Args:
            rulebook: the rules.
            vocabulary: the facts.
            computed: facts that calculators and the pipeline give: what they are is not looked into.
            extra: constants by fact that conditions from elsewhere will name.
        """
        self._rules = {rule.id: rule for rule in rulebook.rules}
        self._vocabulary = vocabulary
        self._derived_may_be_stated = True
        self.conditions = Conditions(Domains((*_constants(rulebook), *extra), vocabulary), vocabulary)
        self._comparisons = self.conditions.comparisons
        self._above = overriders(self._rules)
        self._rows_above = rows_above(rulebook.rules)
        self._setters, self._dim = _producers(rulebook, vocabulary, frozenset(computed))
        self._where: dict[str, Formula] = {}
        self._fires: dict[str, Formula] = {}
        self._inlined: dict[Literal, Formula] = {}
        self._open: set[str] = set()
        self._opposites: dict[int, tuple[Formula, Formula]] = {}
        self._true: dict[int, tuple[Expr, Formula]] = {}

    def derived(self) -> Regions:
        """These regions where facts that rules derive are not stated, except those that people are asked for."""
        other = copy(self)
        other._derived_may_be_stated = False
        other._where, other._fires, other._inlined, other._open = {}, {}, {}, set()
        other._true = {}
        return other

    def true(self, *exprs: Expr) -> Formula:
        """Where all conditions are true."""
        return both(*map(self._one, exprs))

    def _one(self, expr: Expr) -> Formula:
        if self._open:  # Inside of what is being put in: some facts are not put in here.
            return self._inline(self.conditions.true(expr))
        if id(expr) not in self._true:
            self._true[id(expr)] = (expr, self._inline(self.conditions.true(expr)))
        return self._true[id(expr)][1]

    def false(self, expr: Expr) -> Formula:
        """Where the condition is false, its facts being known."""
        return self._inline(self.conditions.false(expr))

    def known(self, fact: str) -> Formula:
        """Where the fact is known, by whatever gives it."""
        return self._inline(self.conditions.known(fact))

    def where(self, rule: Rule) -> Formula:
        """Where all conditions of a rule are true."""
        if rule.id not in self._where:
            self._where[rule.id] = self.true(*(condition.expr for condition in rule.when))
        return self._where[rule.id]

    def fires(self, rule: Rule) -> Formula:
        """Where a rule fires: it matches, no earlier row of a ``first`` table does, and no rule overrides it."""
        if rule.id not in self._fires:
            beaten = (self.outside(self.where(other)) for other in (*self.earlier(rule), *self.overriding(rule)))
            self._fires[rule.id] = both(self.where(rule), *beaten)
        return self._fires[rule.id]

    def outside(self, formula: Formula) -> Formula:
        """Where a formula does not hold; kept, since rules are held against each other again and again."""
        kept = self._opposites.get(id(formula))
        if kept is None:
            kept = self._opposites[id(formula)] = (formula, opposite(formula))
        return kept[1]

    def earlier(self, rule: Rule) -> tuple[Rule, ...]:
        """The rows above, where the table takes the first that matches."""
        return self._rows_above.get(rule.id, ())

    def overriding(self, rule: Rule) -> list[Rule]:
        """The rules that override this one and fire at the same time: those of its stage and scope."""
        above = (self._rules[name] for name in sorted(self._above.get(rule.id, ())))
        return [other for other in above if (other.stage, other.each) == (rule.stage, rule.each)]

    def never(self, *formulas: Formula) -> bool:
        """Whether it is proved that the formulas never hold together."""
        try:
            return not solvable(*formulas, possible=self._comparisons.possible)
        except GaveUp:
            return False

    def cover(self, target: Formula, rules: Sequence[Rule], region: Callable[[Rule], Formula]) -> list[Rule]:
        """As few of the rules as have ``target`` inside their regions taken together; none if all do not suffice."""
        if self.never(target) or not self.never(target, *(self.outside(region(rule)) for rule in rules)):
            return []
        needed = list(rules)
        for rule in reversed(rules):
            fewer = [other for other in needed if other is not rule]
            if fewer and self.never(target, *(self.outside(region(other)) for other in fewer)):
                needed = fewer
        return needed

    def find(self, *formulas: Formula) -> Case | None:
        """A case in which all formulas hold, a certain one if there is one. None: there is none, or too far to seek."""
        for certain in (True, False):
            wanted = [self._certain(formula) for formula in formulas] if certain else formulas
            with suppress(GaveUp):
                masks = solve(*wanted, possible=self._comparisons.possible)
                if masks is not None:
                    example = self._example(masks, certain=certain)
                    return Case(example, certain and all(self._holds(formula, example) for formula in wanted))
        return None

    def _certain(self, formula: Formula) -> Formula:
        """The formula with everything that is not looked into taken for false."""
        if isinstance(formula, Literal):
            return formula if self._looked_into(formula.fact) else FALSE
        parts = (self._certain(part) for part in formula.parts)
        return both(*parts) if isinstance(formula, All) else either(*parts)

    def _looked_into(self, fact: str) -> bool:
        """Whether what a fact is, or how facts compare, depends on nothing outside of the formulas."""
        if not fact.startswith(OPAQUE):
            return fact not in self._dim
        reads = self._comparisons.reads(fact)
        return reads is not None and reads.isdisjoint(self._dim) and reads.isdisjoint(self._setters)

    def _holds(self, formula: Formula, example: Example) -> bool:
        """Whether a formula holds on an example, computed on its values."""
        if isinstance(formula, Literal):
            return bool(formula.mask & self._mask_on(formula.fact, example))
        inner = (self._holds(part, example) for part in formula.parts)
        return all(inner) if isinstance(formula, All) else any(inner)

    def _mask_on(self, fact: str, example: Example) -> int:
        """The class of a fact, an item or a comparison on an example."""
        if fact.startswith(OPAQUE):
            return self._comparisons.mask_on(fact, {name: v for name, v in example.items() if v is not None})
        name, _, item = fact.partition(ITEM)
        value = example.get(name)
        if item:
            return 2 if isinstance(value, tuple) and item in value else 1
        classes = self.conditions.domains.of(fact)
        return classes.unknown if value is None else classes.holding(value)

    def _inline(self, formula: Formula) -> Formula:
        if not isinstance(formula, Literal):
            parts = tuple(self._inline(part) for part in formula.parts)
            return both(*parts) if isinstance(formula, All) else either(*parts)
        if formula.fact not in self._setters or formula.fact in self._open:
            return formula
        if formula not in self._inlined:
            self._open.add(formula.fact)
            self._inlined[formula] = self._derived(formula)
            self._open.discard(formula.fact)
        return self._inlined[formula]

    def _derived(self, wanted: Literal) -> Formula:
        """Where the rules give the fact a wanted value; where none gives one, it may still be stated."""
        classes = self.conditions.domains.of(wanted.fact)
        setters = self._setters[wanted.fact]
        gives = [self.fires(rule) for rule, value in setters if classes.where("==", value) & wanted.mask]
        silent = (self.outside(self.fires(rule)) for rule, _ in setters)
        stated = wanted.mask
        fact = self._vocabulary.facts[wanted.fact]
        if fact.role == "output" or not (self._derived_may_be_stated or fact.question):
            stated &= classes.unknown
        return either(*gives, both(*silent, literal(wanted.fact, stated, wanted.full)))

    def _example(self, masks: Mapping[str, int], *, certain: bool) -> Example:
        example: dict[str, Value | None] = {}
        compared = self._comparisons.point(masks) or {}
        items: dict[str, list[str]] = {}
        for fact, mask in sorted(masks.items()):
            if fact.startswith(OPAQUE):
                continue
            if ITEM in fact:
                name, _, item = fact.partition(ITEM)
                items.setdefault(name, []).extend([item] if mask == 2 else [])
                continue
            classes = self.conditions.domains.of(fact)
            if mask == classes.unknown:
                example[fact] = None
            elif mask == classes.known and not certain:
                continue  # It only has to be known for a comparison, and some value of it may fail that.
            elif fact in compared:
                number = compared[fact]
                example[fact] = int(number) if number.denominator == 1 else float(number)
            elif not mask & classes.unknown:
                example[fact] = classes.example(mask)
        for name, found in items.items():
            if example.get(name) is not None:
                example[name] = tuple(sorted(found))
        for name in [name for name, value in example.items() if value == "a list"]:
            example[name] = ()
        return dict(sorted(example.items()))


def _constants(rulebook: Rulebook) -> Iterator[tuple[str, Scalar]]:
    """Facts with the constants that a condition or a ``set`` of the rulebook names."""
    for rule in rulebook.rules:
        for condition in rule.when:
            yield from constants(condition.expr)
        for effect in rule.effects:
            if isinstance(effect, SetFact) and isinstance(effect.expr, Const):
                yield effect.fact, effect.expr.value


def _producers(
    rulebook: Rulebook, vocabulary: Vocabulary, computed: frozenset[str]
) -> tuple[dict[str, list[tuple[Rule, bool | int | float | str]]], frozenset[str]]:
    """Facts that rules alone set to constants, with their rules; and facts that are computed in other ways."""
    setters: dict[str, list[tuple[Rule, bool | int | float | str]]] = {}
    dim = set(computed)
    for rule in rulebook.rules:
        for effect in rule.effects:
            if not isinstance(effect, SetFact):
                continue
            if isinstance(effect.expr, Const) and rule.each == "workload":
                setters.setdefault(effect.fact, []).append((rule, effect.expr.value))
            else:
                dim.add(effect.fact)
    plain = {
        fact: found
        for fact, found in setters.items()
        if fact not in dim and vocabulary.facts[fact].role != "input" and vocabulary.facts[fact].type != "list"
    }
    return plain, frozenset(dim)
