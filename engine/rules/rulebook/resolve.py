"""What rules come to on one set of facts: hit policy, overrides, colliding sets, and what became of each rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.rules.language.compiling import compile_expr, evaluate
from whichgpu.engine.rules.language.tree import And, Expr, facts_read
from whichgpu.engine.rules.rulebook.effect_records import SetFact
from whichgpu.engine.rules.rulebook.model import Rule, Verdict


class Collision(Struct, frozen=True):
    """Rules that gave one fact different values, none of them overriding: the fact stays unknown."""

    fact: str
    rules: tuple[str, ...]  # sorted
    values: tuple[Value, ...]  # of the rules, in their order


class Resolution(Struct, frozen=True):
    """What the matches of one set of facts come to."""

    fired: tuple[str, ...]  # rule ids, sorted
    overridden: Mapping[str, str] = field(default_factory=dict)  # rule -> the fired rule that prevailed
    values: Mapping[str, Value] = field(default_factory=dict)  # facts that the fired rules set, by name
    set_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # fact -> fired rules that set this value
    collisions: tuple[Collision, ...] = ()  # by fact


class Resolver:
    """Rules prepared for resolution, so that the work per set of facts is small."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Prepare ``rules``; overrides of rules outside them have no effect."""
        ordered = sorted(rules, key=lambda rule: rule.id)
        self._rules = {rule.id: rule for rule in ordered}
        self._above = overriders(self._rules)
        self._first = {rule.id: rule.table for rule in ordered if rule.table and rule.hit == "first"}
        self._setters = {
            rule.id: setters
            for rule in ordered
            if (setters := [(e.fact, compile_expr(e.expr)) for e in rule.effects if isinstance(e, SetFact)])
        }

        #: Rules that set nothing and that no other can prevail over: of these alone all fire.
        self._free = self._rules.keys() - self._above.keys() - self._first.keys() - self._setters.keys()

    def resolve(self, matches: Iterable[str], facts: Facts) -> Resolution:
        """What ``matches`` come to. Those that are no rule of this resolver raise KeyError.

        Order: hit policy ``first`` keeps the earliest matching row of a table; then a rule is overridden if any rule
        that overrides it, directly or through others, matches too; what is left fires. Rules that set one fact to
        different values leave it unknown. A rule that is undecided overrides nothing and takes no row: only what is
        known decides.
        """
        matched = sorted(set(matches))
        if self._free.issuperset(matched):
            return Resolution(tuple(matched))
        for unknown in (name for name in matched if name not in self._rules):
            raise KeyError(unknown)
        overridden = self._later_rows(matched)
        present = set(matched).difference(overridden)
        for name in self._above.keys() & present:
            winners = self._above[name] & present
            if winners:
                overridden[name] = min(w for w in winners if not self._above.get(w, frozenset()) & present)
        fired = tuple(name for name in matched if name not in overridden)
        if not overridden and self._setters.keys().isdisjoint(fired):
            return Resolution(fired)
        values, set_by, collisions = self._set_values(fired, facts)
        # An earlier row that prevailed over a later one may itself be overridden: name the rule that really fired.
        prevailing = {name: overridden.get(by, by) for name, by in sorted(overridden.items())}
        return Resolution(fired, prevailing, values, set_by, collisions)

    def _later_rows(self, matched: list[str]) -> dict[str, str]:
        """Matching rows of ``first`` tables beaten by an earlier matching row."""
        if self._first.keys().isdisjoint(matched):
            return {}
        best: dict[str, str] = {}
        for name in matched:
            table = self._first.get(name)
            if table and (table not in best or self._rules[name].row < self._rules[best[table]].row):
                best[table] = name
        first = ((name, best[self._first[name]]) for name in matched if name in self._first)
        return {name: winner for name, winner in first if winner != name}

    def _set_values(
        self, fired: tuple[str, ...], facts: Facts
    ) -> tuple[dict[str, Value], dict[str, tuple[str, ...]], tuple[Collision, ...]]:
        claims: dict[str, list[tuple[str, Value]]] = {}
        for name in fired:
            for fact, value_of in self._setters.get(name, ()):
                value = value_of(facts)
                if value is not None:  # an expression over unknown facts says nothing
                    claims.setdefault(fact, []).append((name, value))
        values: dict[str, Value] = {}
        set_by: dict[str, tuple[str, ...]] = {}
        collisions: list[Collision] = []
        for fact, claimed in sorted(claims.items()):
            names = tuple(name for name, _ in claimed)
            if all(_same(value, claimed[0][1]) for _, value in claimed):
                values[fact], set_by[fact] = claimed[0][1], names
            else:
                collisions.append(Collision(fact, names, tuple(value for _, value in claimed)))
        return values, set_by, tuple(collisions)


def _same(left: Value, right: Value) -> bool:
    """Equal values of one kind: ``True`` is not ``1`` here."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def overriders(rules: Mapping[str, Rule]) -> dict[str, frozenset[str]]:
    """For each rule, all rules above it. Overriding is transitive; a circle was a load error."""
    direct: dict[str, set[str]] = {}
    for rule in rules.values():
        for other in rule.overrides:
            if other in rules:
                direct.setdefault(other, set()).add(rule.id)
    above: dict[str, frozenset[str]] = {}
    for name, above_it in direct.items():
        found: set[str] = set()
        fresh = set(above_it)
        while fresh:
            found |= fresh
            fresh = {higher for lower in fresh for higher in direct.get(lower, ())} - found
        above[name] = frozenset(found - {name})
    return above


def verdict_of(rule: Rule, facts: Facts, resolution: Resolution | None = None) -> Verdict:
    """The verdict on one rule; ``resolution`` says which matches were overridden."""
    undecided = False
    unknown: set[str] = set()
    for condition in rule.when:
        outcome = evaluate(condition.expr, facts)
        if outcome is None:
            undecided = True
            unknown |= missing_facts(condition.expr, facts)
        elif not outcome:
            return Verdict(rule.id, "not_fired", failed=condition.text, value=only_value(condition.expr, facts))
    if undecided:
        return Verdict(rule.id, "undecided", missing=tuple(sorted(unknown)))
    by = resolution.overridden.get(rule.id) if resolution else None
    return Verdict(rule.id, "overridden", by=by) if by is not None else Verdict(rule.id, "fired")


def missing_facts(expr: Expr, facts: Facts) -> set[str]:
    """Facts whose absence leaves ``expr`` unknown. Parts of a conjunction that hold are left out."""
    if isinstance(expr, And):
        return {name for part in expr.operands if evaluate(part, facts) is None for name in missing_facts(part, facts)}
    return {name for name in facts_read(expr) if name not in facts}


def only_value(expr: Expr, facts: Facts) -> Value | None:
    """The value of the one fact that ``expr`` reads, if it reads only one."""
    names = facts_read(expr)
    return facts.get(next(iter(names))) if len(names) == 1 else None
