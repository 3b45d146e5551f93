"""What may become of a plan at the reject rules that wait: put out, or left unproven."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from dataclasses import field

from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.core.values import Facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.possible_outcomes import Fog
from whichgpu.engine.interview.possible_outcomes import Truths
from whichgpu.engine.interview.possible_outcomes import truths_of
from whichgpu.engine.interview.rule_index import Atlas
from whichgpu.engine.interview.rule_index import Line
from whichgpu.engine.interview.rule_index import RuleView


@dataclass(frozen=True, slots=True)
class Fate:
    """What may become of one plan, and the askable facts behind it."""

    rejecting: frozenset[str] = frozenset()  # behind the rules that may put it out; empty: none may
    unproven: frozenset[bool] = frozenset((False,))  # whether a limit may stand that it cannot be held against
    unproven_behind: frozenset[str] = frozenset()


@dataclass(slots=True)
class Tribunal:
    """The reject rules that wait for open facts, asked plan by plan."""

    atlas: Atlas
    shared: Facts
    fog: Fog
    unstated: AbstractSet[str]  # wishes: a rule that lacks one has no objection
    waiting: tuple[RuleView, ...] = field(init=False)
    _known: dict[tuple[str, tuple[tuple[str, Value | None], ...]], tuple[Truths, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the rules that wait."""
        self.waiting = tuple(view for view in self.atlas.rejecting if self.fog.hides(view.reads))

    def fate(self, judged: Judged) -> Fate:
        """What may become of a plan that no rule rejects as things stand."""
        rejecting: set[str] = set()
        unproven: set[bool] = set()
        behind: set[str] = set()
        read: set[str] = set()
        for view in self.waiting:
            truths, objects = self._truths(view, judged.facts)
            if True in truths:
                rejecting |= self.fog.behind(view.reads)
            if None in truths and objects:
                unproven.add(True)
                behind |= self.fog.behind(view.reads)
            read |= view.reads
        if judged.missing:
            unproven.add(True)
            if set(judged.missing) <= read:  # Only rules that wait leave it unproven: they may let it pass.
                unproven.add(False)
                behind |= {c for v in self.waiting if v.reads & set(judged.missing) for c in self.fog.behind(v.reads)}
        else:
            unproven.add(False)
        return Fate(frozenset(rejecting), frozenset(unproven), frozenset(behind))

    def returning(self, rules: AbstractSet[str], plan_facts: Facts) -> frozenset[str]:
        """The askable facts that could bring back a plan which these rules reject; empty where one is sure to stand."""
        waiting = [view for view in self.waiting if view.rule.id in rules]
        if len(waiting) < len(rules):
            return frozenset()
        if any(self._truths(view, plan_facts)[0] == {True} for view in waiting):
            return frozenset()
        return frozenset(cause for view in waiting for cause in self.fog.behind(view.reads))

    def _truths(self, view: RuleView, plan_facts: Facts) -> tuple[Truths, bool]:
        """What a rule may come to for a plan, and whether it objects where it cannot be decided."""
        local = sorted({name for line in view.local for name in line.reads if "." in name})
        key = (view.rule.id, tuple((name, plan_facts.get(name)) for name in local))
        if key not in self._known:
            facts: Mapping[str, Value] = {**self.shared, **plan_facts}
            truths = truths_of(view.lines, facts, self.fog)
            self._known[key] = truths, None in truths and not any(self._waives(line, facts) for line in view.lines)
        return self._known[key]

    def _waives(self, line: Line, facts: Facts) -> bool:
        """Whether a line cannot hold because a wish was not stated: the rule then has no objection."""
        absent = [n for n in line.reads if n in self.unstated and n not in self.shared and n not in self.fog.values]
        return bool(absent) and True not in truths_of((line,), facts, self.fog)
