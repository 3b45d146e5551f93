"""Prefer rules that wait for open facts, grouped by what they do: which sets of them can hold together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from whichgpu.engine.core import Facts
from whichgpu.engine.interview.possible_outcomes import (
    MOST_COMBINATIONS,
    OpenFacts,
    combinations,
    laid_over,
    overlays,
    truth_values_of,
)
from whichgpu.engine.interview.rule_index import Mark, RuleIndex, RuleView


class RuleGroup(Struct, frozen=True):
    """Rules that give points for one reason, or one mark, and wait for open facts: the sets that can hold together."""

    name: str  # the reason, or the mark
    mark: Mark | None
    rules: tuple[RuleView, ...]
    firings: tuple[frozenset[str], ...]
    loose: frozenset[str]  # rules whose holding was not computed jointly: each may hold or not
    involved: tuple[str, ...]  # the rules with those on which their firing depends: rows of their tables, overriders


class RuleGroups(Struct, frozen=True):
    """All rules that wait, by reason and by mark, and the askable facts behind each."""

    scores: tuple[RuleGroup, ...] = ()
    marks: Mapping[Mark, RuleGroup] = field(default_factory=dict)
    waiting: Mapping[str, RuleView] = field(default_factory=dict)
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def causes(self) -> frozenset[str]:
        """The askable facts that any of these rules waits for."""
        return frozenset().union(*self.behind.values())


def groups_of(rule_index: RuleIndex, facts: Facts, open_facts: OpenFacts) -> RuleGroups:
    """The rules that wait for open facts, by reason and by mark."""
    waiting = waiting_rules(rule_index, open_facts)
    reasons = sorted({award.reason for view in waiting for award in view.awards})
    marks = sorted({mark for view in waiting for mark in view.marks})
    overridden = frozenset(view.rule.id for view in waiting if rule_index.above.get(view.rule.id))

    def group(name: str, views: Sequence[RuleView], mark: Mark | None = None) -> RuleGroup:
        involved = {view.rule.id for view in (*views, *_deciding(views, waiting, rule_index))}
        firings, loose = _firings(views, facts, open_facts, overridden)
        return RuleGroup(name, mark, tuple(views), firings, loose, tuple(sorted(involved)))

    return RuleGroups(
        tuple(group(reason, [v for v in waiting if any(a.reason == reason for a in v.awards)]) for reason in reasons),
        {mark: group(f"mark {mark}", [view for view in waiting if mark in view.marks], mark) for mark in marks},
        {view.rule.id: view for view in waiting},
        {view.rule.id: open_facts.behind(view.reads) for view in waiting},
    )


def waiting_rules(rule_index: RuleIndex, open_facts: OpenFacts) -> list[RuleView]:
    """Prefer rules that read something open, with those that depend on them.

    These are the rows beside them where only the first of a table counts, and the rules that override them or that they
    override.
    """
    waiting = {view.rule.id: view for view in rule_index.preferring if open_facts.hides(view.reads)}
    beside = _deciding(waiting.values(), rule_index.preferring, rule_index)
    below = [v for v in rule_index.preferring if rule_index.above.get(v.rule.id, frozenset()) & waiting.keys()]
    return [view for _, view in sorted({**waiting, **{view.rule.id: view for view in (*beside, *below)}}.items())]


def _deciding(views: Iterable[RuleView], among: Iterable[RuleView], rule_index: RuleIndex) -> list[RuleView]:
    """The rules of some on which the firing of others depends: rows of tables of which the first counts, overriders."""
    rules = [view.rule for view in views]
    tables = {rule.table for rule in rules if rule.table and rule.hit == "first"}
    above = {name for rule in rules for name in rule_index.above.get(rule.id, ())}
    return [view for view in among if view.rule.table in tables or view.rule.id in above]


def _firings(
    views: Sequence[RuleView], facts: Facts, open_facts: OpenFacts, overridden: frozenset[str]
) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    """The sets of rules that can hold together, and the rules that were not computed jointly."""
    loose = {view.rule.id for view in views if view.rule.id in overridden or _is_loose(view, open_facts)}
    joint = [view for view in views if view.rule.id not in loose]
    reads = {name for view in joint for line in view.shared for name in line.reads}
    names = sorted(reads & open_facts.values.keys())  # Their joint values decide which rules can hold together.
    if combinations(names, open_facts) > MOST_COMBINATIONS:
        loose |= {view.rule.id for view in joint if True in truth_values_of(view.shared, facts, open_facts)}
        return (frozenset(),), frozenset(loose)
    firings = set()
    for overlay in overlays(names, open_facts):
        seen = laid_over(facts, reads, overlay)
        firings.add(frozenset(v.rule.id for v in joint if all(line.test(seen) is True for line in v.shared)))
    may_hold = {v.rule.id for v in views if v.rule.id in loose and True in truth_values_of(v.shared, facts, open_facts)}
    return tuple(sorted(firings, key=sorted)), frozenset(may_hold)


def _is_loose(view: RuleView, open_facts: OpenFacts) -> bool:
    if view.rule.table and view.rule.hit == "first":
        return True
    return any(
        name in open_facts.values and (open_facts.values[name] is None or name in line.blind)
        for line in view.shared
        for name in line.reads
    )
