"""Which rules differ between two rulebooks, and in what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import Literal

from whichgpu.engine.rules.rulebook.layers import canonical
from whichgpu.engine.rules.rulebook.layers import rule_digest
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Rulebook


#: What a rule is made of, in the order in which a difference is told. The first group can change an answer.
DECISIVE = ("stage", "each", "when", "effects", "overrides", "hit", "row")
SPOKEN = ("title", "text", "because", "sources", "encodes", "status", "valid_until", "tests", "topic")


@dataclass(frozen=True, slots=True)
class RuleChange:
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
    def rule(self) -> Rule:
        """The rule as it is now, or as it was when it went."""
        rule = self.new or self.old
        assert rule is not None  # noqa: S101  # One of the two is always there.
        return rule


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
