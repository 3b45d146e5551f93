"""What a level's rules come to: matches, outcomes in three values, verdicts; here on one case.

Each part of a condition is judged once. Parts that read only the workload's facts are judged first, and a rule that
they dismiss is not looked at again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from whichgpu.engine.core import Codes, Facts, Value
from whichgpu.engine.rules.inference.evaluator import Branch, Evaluator
from whichgpu.engine.rules.inference.parts import Part
from whichgpu.engine.rules.rulebook.model import Rule, Verdict


class Evaluation(ABC):
    """What the rules come to, a row for each plan or case; values are computed when first asked for, and kept."""

    def __init__(self, evaluator: Evaluator, shared: Facts) -> None:
        self.rules: Mapping[str, Rule] = evaluator.rules
        self.shared = shared
        self._evaluator = evaluator
        self._common: dict[int, bool | None] = {}

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def matches(self) -> Sequence[frozenset[str]]:
        """For each row the ids of the rules whose conditions all hold."""

    @abstractmethod
    def facts_of(self, row: int) -> Facts:
        """All facts of a row, the shared ones included."""

    @abstractmethod
    def numbered(self, name: str, rows: Codes) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of rows: the number of its value in each, and the values; None for unknown."""

    @abstractmethod
    def own_facts(self, rows: Codes) -> Sequence[Facts]:
        """What the conditions read of rows alone."""

    @abstractmethod
    def _local(self, part: int, row: int) -> bool | None:
        """The truth of a part that reads a row's own facts."""

    @abstractmethod
    def undecided_alike(self, rule: str) -> Iterable[Sequence[int]]:
        """The rows on which the rule is undecided, those together that lack the same facts for the same parts."""

    @property
    def parts(self) -> Sequence[Part]:
        """The distinct parts of all conditions."""
        return self._evaluator.parts.parts

    def parts_of(self, rule: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Which parts a rule consists of: those that read shared facts only, and the others."""
        return self._evaluator.parts.split[rule]

    def common(self, part: int) -> bool | None:
        """The truth of a part that reads shared facts only."""
        if part not in self._common:
            value = self._evaluator.scalar(part)(self.shared)
            self._common[part] = value if value is True or value is False else None
        return self._common[part]

    def value(self, part: int, row: int) -> bool | None:
        """The truth of a part on a row."""
        return self._local(part, row) if self.parts[part].local else self.common(part)

    def holds(self, part: int, rows: Codes) -> list[bool]:
        """On which of some rows a local part holds."""
        return [self._local(part, row) is True for row in rows.tolist()]

    def outcome(self, rule: str, row: int = 0) -> bool | None:
        """True: all conditions hold. False: one does not. None: undecided for want of a fact."""
        result: bool | None = True
        for part in self._evaluator.parts.of_rule[rule]:
            value = self.value(part, row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    def outcomes(self, row: int = 0) -> Mapping[str, bool | None]:
        """The outcome of every rule on a row."""
        return {rule: self.outcome(rule, row) for rule in self.rules}

    def verdict(self, rule: str, row: int = 0) -> Verdict:
        """What became of a rule on a row: fired, undecided for which facts, or dismissed by which condition."""
        if rule in self.matches[row]:
            return Verdict(rule, "fired")
        facts = self.facts_of(row)
        missing: dict[str, None] = {}
        for condition, parts in zip(self.rules[rule].when, self._evaluator.parts.of_condition[rule], strict=True):
            values = [self.value(part, row) for part in parts]
            if None not in values and False not in values:
                continue
            reads = sorted(frozenset[str]().union(*(self.parts[part].reads for part in parts)))
            if False in values:
                value = facts.get(reads[0]) if len(reads) == 1 else None
                return Verdict(rule, "not_fired", failed=condition.text, value=value)
            missing.update(dict.fromkeys(name for name in reads if name not in facts))
        return Verdict(rule, "undecided", missing=tuple(missing))

    def verdicts(self, row: int = 0) -> list[Verdict]:
        """The verdict on every rule on a row, sorted by rule."""
        return [self.verdict(rule, row) for rule in self.rules]

    def not_dismissed(self) -> list[str]:
        """The rules of which the shared facts dismiss no condition, sorted by id."""
        local = self._evaluator.local
        branches = self._branches(undecided=True)
        return sorted(
            rule for each in branches for rule in (*each.certain, *(local[number][0] for number in each.waiting))
        )

    def _standing(self) -> tuple[list[str], list[int]]:
        """What holds by the shared facts: rules that have no further parts, and numbers of those that have."""
        certain: list[str] = []
        waiting: list[int] = []
        for branch in self._branches(undecided=False):
            certain += branch.certain
            waiting += branch.waiting
        return certain, waiting

    def _branches(self, *, undecided: bool) -> list[Branch]:
        """The branches of the tree of rules whose common parts all hold; ``undecided``: or are unknown."""
        found = [self._evaluator.tree]
        known, scalar, shared = self._common, self._evaluator.scalar, self.shared
        for branch in found:  # It grows meanwhile.
            for part, further in branch.branches.items():
                if part not in known:
                    value = scalar(part)(shared)
                    known[part] = value if value is True or value is False else None
                if known[part] is True or (undecided and known[part] is None):
                    found.append(further)
        return found


class CaseEvaluation(Evaluation):
    """The rules on the facts of one case."""

    def __init__(self, evaluator: Evaluator, shared: Facts, facts: Facts) -> None:
        self._facts: Facts = {**shared, **facts}
        super().__init__(evaluator, self._facts)
        self._own: dict[int, bool | None] = {}

    @property
    def size(self) -> int:
        """One."""
        return 1

    @cached_property
    def matches(self) -> Sequence[frozenset[str]]:
        """The ids of the rules whose conditions all hold."""
        matched, waiting = self._standing()
        for number in waiting:
            rule, parts = self._evaluator.local[number]
            if all(self._local(part, 0) is True for part in parts):
                matched.append(rule)
        return [frozenset(matched)]

    def facts_of(self, row: int) -> Facts:  # noqa: ARG002  # There is but one.
        """The facts of the case."""
        return self._facts

    def numbered(self, name: str, rows: Codes) -> tuple[Sequence[int], Sequence[Value | None]]:
        """One fact of the case."""
        return [0] * len(rows), [self._facts.get(name)]

    def own_facts(self, rows: Codes) -> Sequence[Facts]:
        """The facts of the case."""
        return [self._facts for _ in rows]

    def _local(self, part: int, row: int) -> bool | None:  # noqa: ARG002
        if part not in self._own:
            value = self._evaluator.scalar(part)(self._facts)
            self._own[part] = value if value is True or value is False else None
        return self._own[part]

    def undecided_alike(self, rule: str) -> Iterable[Sequence[int]]:
        """The case, if the rule is undecided on it."""
        return [[0]] if self.outcome(rule) is None else []
