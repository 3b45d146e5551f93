"""Which rules differ between two rulebooks, in what, and on which facts a changed rule now does something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.authoring.lint.finding import shown
from whichgpu.engine.authoring.lint.formulas import Formula, opposite
from whichgpu.engine.authoring.lint.regions import Example, Regions
from whichgpu.engine.rules import Rule, Rulebook, Vocabulary, canonical, rule_digest


#: What a rule is made of, in the order in which differences are listed. The first group can change an answer.
DECISIVE = ("stage", "each", "when", "effects", "overrides", "hit", "row")
SPOKEN = ("title", "text", "because", "sources", "encodes", "status", "valid_until", "responsible", "tests", "topic")


class RuleChange(Struct, frozen=True):
    """One rule that is in one rulebook only, or says something else in the other."""

    kind: Literal["added", "removed", "changed", "renamed"]
    id: str
    old: Rule | None
    new: Rule | None
    aspects: tuple[str, ...] = ()

    @property
    def decisive(self) -> bool:
        """Whether the change can alter an answer, and not only its wording."""
        return self.kind in ("added", "removed") or any(aspect in DECISIVE for aspect in self.aspects)

    @property
    def both(self) -> tuple[Rule, ...]:
        """The rule as it was and as it is, as far as it is there."""
        return tuple(rule for rule in (self.old, self.new) if rule is not None)

    @property
    def rule(self) -> Rule:
        """The rule as it is now, or as it was when it went."""
        return self.both[-1]


def rule_changes(old: Rulebook, new: Rulebook) -> tuple[RuleChange, ...]:
    """The rules that differ, by id. A rule that only got another id counts as renamed."""
    before = {rule.id: rule for rule in old.rules}
    after = {rule.id: rule for rule in new.rules}
    renamed = _renamed(before, after)
    changes = []
    for name in sorted({*before, *after}):
        if name in renamed.values():
            continue
        was, now = before.get(name), after.get(renamed.get(name, name))
        if was is None or now is None:
            changes.append(RuleChange("added" if was is None else "removed", name, was, now))
            continue
        aspects = differing(was, now)
        if name in renamed:
            changes.append(RuleChange("renamed", now.id, was, now, aspects))
        elif aspects:
            changes.append(RuleChange("changed", name, was, now, aspects))
    return tuple(sorted(changes, key=lambda change: change.id))


def differing(old: Rule, new: Rule) -> tuple[str, ...]:
    """The names of the parts that differ."""
    return tuple(part for part in (*DECISIVE, *SPOKEN) if _part(old, part) != _part(new, part))


def _part(rule: Rule, part: str) -> object:
    if part == "row" and rule.hit != "first":
        return 0  # Where every matching row counts, their order decides nothing.
    if part == "when":
        return [canonical(condition.expr) for condition in rule.when]
    if part == "tests":
        return [replace(test, place=None) for test in rule.tests]
    return canonical(getattr(rule, part)) if part == "effects" else getattr(rule, part)


def _renamed(before: Mapping[str, Rule], after: Mapping[str, Rule]) -> dict[str, str]:
    """Old id to new id, of rules that say the same under another name."""
    gone = {_nameless(rule): name for name, rule in sorted(before.items()) if name not in after}
    fresh = {_nameless(rule): name for name, rule in sorted(after.items()) if name not in before}
    return {gone[digest]: fresh[digest] for digest in sorted(gone.keys() & fresh.keys())}


def _nameless(rule: Rule) -> str:
    return rule_digest(replace(rule, id="", table=None))


_OLD = "as it was: "


class Region(Struct, frozen=True):
    """Facts on which a changed rule does something else, with a case. ``proved_empty``: there are none."""

    says: str  # now fires, no longer fires
    conditions: tuple[str, ...]  # what must hold, in the rule language
    excluded: tuple[str, ...]  # of these at least one must fail
    example: str | None = None
    facts: Example | None = None  # the same as values
    certain: bool = True
    proved_empty: bool = False


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
        facts, certain = (case.example, case.certain) if case else (None, False)
        return Region(says, tuple(conditions), tuple(excluded), example, facts, certain)


def _apart(rule: Rule, other: Rule) -> tuple[str, ...]:
    """The conditions of a rule that the other does not have."""
    theirs = [canonical(condition.expr) for condition in other.when]
    return tuple(condition.text for condition in rule.when if canonical(condition.expr) not in theirs)


def _texts(rule: Rule) -> tuple[str, ...]:
    return tuple(condition.text for condition in rule.when)
