"""What an edit of rules can touch: the tests of which rules, and which workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.authoring.diff.answers import known_facts
from whichgpu.engine.authoring.diff.concern import Concern, concern_of
from whichgpu.engine.authoring.diff.rulediff import rule_changes
from whichgpu.engine.core import WhichgpuError, registered
from whichgpu.engine.rules import Rulebook, probing


class Touched(Struct, frozen=True):
    """What differs from an edition before. ``rules``: those whose tests may come out otherwise."""

    rules: frozenset[str]
    advisor: Advisor
    concern: Concern

    @probing()
    def meets(self, facts: Mapping[str, Any]) -> bool:
        """Whether a workload can get another answer."""
        try:
            given = self.advisor.read(known_facts(self.advisor, facts)).given
            return self.concern.may_meet(given, lambda: self.advisor.context.resolve(given).intake.facts)
        except WhichgpuError:
            return True


def touched_by(before: Advisor, after: Advisor) -> Touched | None:
    """What an edit touches; None where more was edited than rules, so that it may be anything."""
    changes = rule_changes(before.rulebook, after.rulebook)
    concern = concern_of(before, after, changes)
    if concern is None or before.vocabulary.facts != after.vocabulary.facts:
        return None
    edited = {rule.id for change in changes for rule in change.both}
    return Touched(_depending_on(edited, before.rulebook, after.rulebook), after, concern)


def _depending_on(edited: set[str], *books: Rulebook) -> frozenset[str]:
    """The edited rules, and all that read or set what any of them sets, share a table with it, or override it."""
    rules = {rule.id: rule for book in books for rule in book.rules}
    makers = [(frozenset((*item.needs, *item.uses)), item.output) for item in registered().values()]
    touched, facts, size = set(edited), set[str](), -1
    while size != len(touched) + len(facts):
        size = len(touched) + len(facts)
        facts |= {fact for name in touched for fact in rules[name].writes}
        facts |= {made for read, made in makers if read & facts}
        tables = {rules[name].table for name in touched} - {None}
        over = {name for one in touched for name in rules[one].overrides}
        touched |= {
            rule.id
            for rule in rules.values()
            if (rule.reads | rule.writes | rule.mentions) & facts
            or rule.table in tables
            or rule.id in over
            or touched & {*rule.overrides}
        }
    return frozenset(touched)
