"""The reference evaluator over a level of rules: matches, and what the C engine cannot say of the other rules.

It is the authority on what a condition means; durable-rules must agree with it on every match. A rule's ``when`` is one
flat conjunction, each part once, split by the scope of what it reads. Conditions that read only what all fact sets
share are evaluated once, and a rule they dismiss is not looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial

from msgspec import Struct

from whichgpu.engine.core import Facts, Value
from whichgpu.engine.rules.language import Compiled, compile_expr, conjuncts, facts_read, to_nnf
from whichgpu.engine.rules.language.tree import And, Expr
from whichgpu.engine.rules.rulebook.model import Rule, Verdict
from whichgpu.engine.rules.rulebook.resolve import only_value


#: A rule with more parts than this is one condition to the engine, whose facts hold about 250 values.
MAX_PARTS = 100


class Conjunct(Struct, frozen=True):
    """One part of a conjunction. ``local`` parts read a plan's or GPU's facts, the others what all sets share."""

    expr: Expr
    reads: frozenset[str]
    local: bool


def is_local(fact: str) -> bool:
    """Whether the fact belongs to one plan, GPU or candidate: these names, and only these, have a dot."""
    return "." in fact


class Conjunctions(Struct, frozen=True):
    """All rules' conjunctions over one shared list of distinct parts."""

    parts: tuple[Conjunct, ...]
    of_rule: dict[str, tuple[int, ...]]  # rule id -> indexes into parts, common parts first


def flatten(rules: tuple[Rule, ...]) -> Conjunctions:
    """Bring every ``when`` to negation normal form and number the distinct parts."""
    parts: list[Conjunct] = []
    numbers: dict[str, int] = {}  # By the text of a part: equality takes ``1``, ``1.0`` and ``true`` for one constant.
    of_rule: dict[str, tuple[int, ...]] = {}
    for rule in rules:
        exprs = [expr for condition in rule.when for expr in conjuncts(to_nnf(condition.expr))]
        if len(exprs) > MAX_PARTS:
            exprs = [And(tuple(exprs))]
        indexes: dict[int, None] = {}
        for expr in exprs:
            index = numbers.setdefault(repr(expr), len(parts))
            if index == len(parts):
                reads = frozenset(facts_read(expr))
                parts.append(Conjunct(expr, reads, any(map(is_local, reads))))
            indexes[index] = None
        of_rule[rule.id] = tuple(sorted(indexes, key=lambda index: (parts[index].local, index)))
    return Conjunctions(tuple(parts), of_rule)


class ReferenceMatcher:
    """Rules compiled to closures, once. ``match`` and ``evaluate`` may be called any number of times."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: dict[str, Rule] = {rule.id: rule for rule in sorted(rules, key=lambda rule: rule.id)}
        self.conjunctions: Conjunctions = flatten(tuple(self.rules.values()))
        parts = self.conjunctions.parts
        #: The compiled form of each part of a conjunction.
        self.part_predicate: Callable[[int], Compiled] = cache(lambda part: compile_expr(parts[part].expr))
        #: The compiled conditions of a rule as written, one for each line of ``when``.
        self.condition_predicates: Callable[[str], list[Compiled]] = cache(
            lambda rule: [compile_expr(condition.expr) for condition in self.rules[rule].when]
        )
        self.split: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}  # rule -> common parts, local parts
        self.local_uses = [0] * len(parts)
        for rule, indexes in self.conjunctions.of_rule.items():
            common = tuple(index for index in indexes if not parts[index].local)
            local = tuple(index for index in indexes if parts[index].local)
            self.split[rule] = (common, local)
            for index in local:
                self.local_uses[index] += 1
        #: Common facts that some local part reads beside a plan's.
        self.common_reads: tuple[str, ...] = tuple(
            sorted({fact for part in parts if part.local for fact in part.reads if not is_local(fact)})
        )

    def match(self, fact_sets: Sequence[Facts], shared: Facts) -> list[frozenset[str]]:
        """The ids of the rules whose conditions all hold, for each fact set.

        Args:
            fact_sets: for each plan, GPU or candidate its own facts (names with a dot). ``[{}]`` for the workload.
            shared: facts that all sets have in common (names without a dot).
        """
        return self.evaluate(fact_sets, shared).matches

    def evaluate(self, fact_sets: Sequence[Facts], shared: Facts) -> Evaluation:
        """As ``match``, with the verdicts on all rules on demand."""
        return Evaluation(self, fact_sets, shared)

    def keep_columns(self, parts: Iterable[int]) -> None:
        """Evaluate these local parts on every fact set, not only where the rest of a rule holds: an engine asks."""
        for part in parts:
            self.local_uses[part] = max(self.local_uses[part], 2)


class Evaluation:
    """What a level's rules come to on some fact sets. Values are worked out when first asked for, and kept."""

    def __init__(self, matcher: ReferenceMatcher, fact_sets: Sequence[Facts], shared: Facts) -> None:
        self.matcher = matcher
        self.shared = shared
        self.fact_sets = fact_sets
        common = {name: shared[name] for name in matcher.common_reads if name in shared}
        #: The fact sets with the few common facts that their conditions read too.
        self._seen = [{**common, **facts} for facts in fact_sets] if common else fact_sets
        self._common: dict[int, Value | None] = {}
        self._columns: dict[int, list[Value | None]] = {}
        self._true_sets: dict[int, set[int]] = {}
        self._whole: dict[int, Facts] = {}
        self.matches: list[frozenset[str]] = self._match()

    def common(self, part: int) -> Value | None:
        """The value of a part that reads common facts only."""
        if part not in self._common:
            self._common[part] = self.matcher.part_predicate(part)(self.shared)
        return self._common[part]

    def column(self, part: int) -> list[Value | None]:
        """The value of a local part on each fact set."""
        if part not in self._columns:
            self._columns[part] = list(map(self.matcher.part_predicate(part), self._seen))
        return self._columns[part]

    def _true_on(self, part: int) -> set[int]:
        if part not in self._true_sets:
            self._true_sets[part] = {index for index, value in enumerate(self.column(part)) if value is True}
        return self._true_sets[part]

    def _match(self) -> list[frozenset[str]]:
        matched: list[set[str]] = [set() for _ in self.fact_sets]
        always: list[str] = []
        known = self._common  # Looked into here: most rules end at a part that another has asked for.
        for rule, (common, local) in self.matcher.split.items():
            for part in common:
                if (known[part] if part in known else self.common(part)) is not True:
                    break
            else:
                if not local:
                    always.append(rule)
                for index in self._matching(local) if local else ():
                    matched[index].add(rule)
        return [frozenset(rules.union(always)) for rules in matched]

    def _matching(self, local: tuple[int, ...]) -> Iterable[int]:
        """Indexes of the fact sets on which all parts hold; parts that other rules share are evaluated once for all."""
        alive: set[int] | None = None
        alone: list[int] = []
        for part in local:
            if self.matcher.local_uses[part] == 1:
                alone.append(part)
                continue
            alive = self._true_on(part) if alive is None else alive & self._true_on(part)
            if not alive:
                return ()
        found: Iterable[int] = range(len(self._seen)) if alive is None else alive
        for part in alone:
            predicate = self.matcher.part_predicate(part)
            found = [index for index in found if predicate(self._seen[index]) is True]
        return found

    def facts_of(self, index: int) -> Facts:
        """All facts of one set, the shared ones included."""
        if index not in self._whole:
            self._whole[index] = {**self.shared, **self.fact_sets[index]}
        return self._whole[index]

    def outcome(self, rule: str, index: int) -> bool | None:
        """True: all conditions hold. False: one does not. None: undecided for want of a fact."""
        if rule in self.matches[index]:
            return True
        common, local = self.matcher.split[rule]
        values = [self.common(part) for part in common]
        if False in values:
            return False
        seen = self._seen[index]
        values += [self.matcher.part_predicate(part)(seen) for part in local]
        return False if False in values else None

    def verdict(self, rule: str, index: int = 0) -> Verdict:
        """What became of a rule on one fact set: fired, undecided for which facts, or dismissed by which condition."""
        if rule in self.matches[index]:
            return Verdict(rule, "fired")
        facts = self.facts_of(index)
        conditions = self.matcher.rules[rule].when
        missing: dict[str, None] = {}
        for condition, predicate in zip(conditions, self.matcher.condition_predicates(rule), strict=True):
            value = predicate(facts)
            if value is None:
                missing.update(dict.fromkeys(sorted(name for name in facts_read(condition.expr) if name not in facts)))
            elif value is not True:
                return Verdict(rule, "not_fired", failed=condition.text, value=only_value(condition.expr, facts))
        return Verdict(rule, "undecided", missing=tuple(missing))

    def outcomes(self, index: int = 0) -> Mapping[str, bool | None]:
        """The outcome of every rule on one fact set."""
        return dict(zip(self.matcher.rules, map(partial(self.outcome, index=index), self.matcher.rules), strict=True))

    def verdicts(self, index: int = 0) -> list[Verdict]:
        """The verdict on every rule on one fact set, sorted by rule."""
        return [self.verdict(rule, index) for rule in self.matcher.rules]
