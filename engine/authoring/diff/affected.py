"""The region of facts on which a changed rule now does something else, with a case that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import replace

from whichgpu.engine.authoring.diff.model import Region
from whichgpu.engine.authoring.diff.rulediff import RuleChange
from whichgpu.engine.authoring.lint.formulas import Formula
from whichgpu.engine.authoring.lint.formulas import opposite
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.authoring.lint.regions import shown
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.layers import canonical
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Rulebook


_OLD = "as it was: "


class Affected:
    """Looks for the regions of the changed rules of one comparison."""

    def __init__(
        self, changes: Iterable[RuleChange], new: Rulebook, vocabulary: Vocabulary, computed: Iterable[str]
    ) -> None:
        """Prepare.

        Args:
            changes: the rules that differ.
            new: the newer rulebook; what its rules derive is put in for the facts that they derive.
            vocabulary: all facts of both rulebooks.
            computed: facts that calculators and the pipeline give.
        """
        olds = [
            replace(change.old, id=_OLD + change.old.id, table=None, writes=frozenset(), effects=(), overrides=())
            for change in changes
            if change.old is not None
        ]
        both = replace(new, rules=(*new.rules, *olds))
        self._olds = {rule.id: rule for rule in olds}
        self._regions = Regions(both, vocabulary, computed)

    def of(self, change: RuleChange) -> tuple[Region, ...]:
        """Where the rule now fires and did not, and where it fired and no longer does."""
        old, new = change.old, change.new
        if new is None or old is None:
            rule = change.rule
            says = "fires" if old is None else "fired"
            formula = self._where(rule, was=old is not None)
            return (self._region(says, _texts(rule), (), [formula]),)
        if "when" not in change.aspects:
            return (self._region("does something else", _texts(new), (), [self._where(new, was=False)]),)
        now, before = self._where(new, was=False), self._where(old, was=True)
        fresh, dropped = _apart(new, old), _apart(old, new)
        return (
            self._region("now fires", _texts(new), dropped, [now, opposite(before)]),
            self._region("no longer fires", _texts(old), fresh, [before, opposite(now)]),
        )

    def _where(self, rule: Rule, *, was: bool) -> Formula:
        return self._regions.where(self._olds[_OLD + rule.id] if was else rule)

    def _region(
        self, says: str, conditions: Sequence[str], excluded: Sequence[str], formulas: Sequence[Formula]
    ) -> Region:
        if self._regions.never(*formulas):
            return Region(says, tuple(conditions), tuple(excluded), proved_empty=True)
        case = self._regions.find(*formulas)
        example = shown(case.example) if case else None
        return Region(says, tuple(conditions), tuple(excluded), example, case.certain if case else False)


def _apart(rule: Rule, other: Rule) -> tuple[str, ...]:
    """The conditions of a rule that the other does not have."""
    theirs = [canonical(condition.expr) for condition in other.when]
    return tuple(condition.text for condition in rule.when if canonical(condition.expr) not in theirs)


def _texts(rule: Rule) -> tuple[str, ...]:
    return tuple(condition.text for condition in rule.when)
