"""Which open facts shape the plans of a state, found by planning with other values of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from whichgpu.engine.core import InputError, Value
from whichgpu.engine.interview.partial_plans import PartialPlans, difference, partial_plans
from whichgpu.engine.interview.possible_outcomes import OpenFacts
from whichgpu.engine.interview.rule_index import RuleIndex
from whichgpu.engine.rules import spread


#: At most so many values of one fact are tried.
_MOST_PROBES = 5
#: Numbers beyond this say nothing about plans that a smaller one would not.
_LARGE = 1e6


@dataclass(slots=True)
class PlanShapes:
    """Which open fact shapes the plans of a state, and which plan facts the others still move."""

    shaping: tuple[str, ...] = ()  # the first that does so alone, or all that do so together
    moved: dict[str, frozenset[str]] = field(default_factory=dict)  # plan fact -> askable facts that move it
    silent: frozenset[str] = frozenset()  # read while planning, and tried without effect on what ranks plans


@dataclass(slots=True)
class PlanVariations:
    """Makes plans for states, and remembers them: an answer that planning does not read makes no new plans."""

    rule_index: RuleIndex
    _made: dict[tuple[object, ...], PartialPlans | None] = field(default_factory=dict)
    decisive_values: dict[str, Value] = field(
        default_factory=dict
    )  # the value of each fact that last made a difference
    _last: tuple[dict[str, Value], tuple[int, ...], PartialPlans, PlanShapes] | None = None

    def partial_plans(self, given: Mapping[str, Value], counts: tuple[int, ...] = ()) -> PartialPlans:
        """The plans of these facts. Raises InputError for an unknown model."""
        found = self.tried(given, counts)
        # Made again, it says what is wrong.
        return partial_plans(self.rule_index.advisor, given, counts) if found is None else found

    def tried(self, given: Mapping[str, Value], counts: tuple[int, ...]) -> PartialPlans | None:
        """``partial_plans`` of these facts; None where the facts contradict each other."""
        key = (tuple(sorted(given.items())), counts)
        if key not in self._made:
            try:
                self._made[key] = partial_plans(self.rule_index.advisor, given, counts)
            except InputError:
                self._made[key] = None
        return self._made[key]

    def shapes(
        self,
        given: Mapping[str, Value],
        open_facts: OpenFacts,
        topics: Sequence[Sequence[str]],
        counts: tuple[int, ...] = (),
    ) -> PlanShapes:
        """The first open fact that shapes the plans, or what the open facts move where none does.

        Args:
            given: what is known.
            open_facts: what is open.
            topics: open askable facts, topic by topic, in the order in which they are asked.
            counts: of GPUs, that rules may yet want planned: they are among the plans whatever is answered.
        """
        base = self.partial_plans(given, counts)
        concerned = open_facts.behind(open_facts.values if base.copied else base.read)
        groups = [[name for name in topic if name in concerned] for topic in topics]
        found = self._still_stands(given, counts, base)
        if found is not None and found.silent.issuperset(chain(*groups)):
            return found
        trial = _Trial(self, base, given, counts, open_facts)
        for few in (True, False):
            moved: dict[str, frozenset[str]] = {}
            for group in filter(None, groups):
                together = trial.vary(group, few=few)
                if together is None:
                    return PlanShapes(trial.first(group))
                moved |= {name: moved.get(name, frozenset()).union(group) for name in together}
        found = PlanShapes((), moved, frozenset(chain(*groups)))
        self._last = (dict(given), counts, base, found)
        return found

    def shape_alone(
        self, given: Mapping[str, Value], open_facts: OpenFacts, names: Sequence[str], counts: tuple[int, ...] = ()
    ) -> tuple[str, ...]:
        """Those of some open facts of which two values are enough to see that they shape the plans by themselves."""
        trial = _Trial(self, self.partial_plans(given, counts), given, counts, open_facts)
        return tuple(name for name in names if trial.vary([name], few=True) is None)

    def _still_stands(
        self, given: Mapping[str, Value], counts: tuple[int, ...], base: PartialPlans
    ) -> PlanShapes | None:
        """What was found last, if since then only such facts were answered as planning does not read.

        What moves no plan while another fact is open may do so once that one is known, and was tried without it.
        """
        if self._last is None:
            return None
        before, planned, plans, found = self._last
        read = base.copied or (given.keys() - before.keys()) & (base.read | found.silent)
        if read or any(given.get(name) != value for name, value in before.items()):
            return None
        if planned != counts:
            # Counts that no rule may want any more leave the plans of all others as they were.
            fewer = plans.among(base.ids) if set(counts) < set(planned) else None
            return found if fewer is not None and difference(fewer, base) is not None else None
        return found if difference(plans, base) is not None else None


@dataclass(slots=True)
class _Trial:
    """Varies open facts from one state."""

    variations: PlanVariations
    base: PartialPlans
    given: Mapping[str, Value]
    counts: tuple[int, ...]
    open_facts: OpenFacts

    def vary(self, names: Sequence[str], *, few: bool = False) -> frozenset[str] | None:
        """The plan facts that move as these facts vary together; None where plans or their ranking do.

        ``few`` tries two values of each: enough to find most of what shapes plans, and no proof that nothing does.
        """
        moving: frozenset[str] = frozenset()
        decisive_values = self.variations.decisive_values
        for each in assignments(self.variations.rule_index, names, self.open_facts, decisive_values, few=few):
            other = self.variations.tried({**self.given, **each}, self.counts)
            differ = difference(self.base, other) if other is not None else frozenset()
            if differ is None:
                if len(names) == 1:
                    decisive_values |= each
                return None
            moving |= differ
        return moving

    def first(self, group: Sequence[str]) -> tuple[str, ...]:
        """The first fact of a group, which together shape the plans, that does so by itself."""
        for few in (True, False):
            for name in group:
                if self.vary([name], few=few) is None:
                    return (name,)
        return tuple(sorted(group))  # What shows only together is each one's doing.


def assignments(
    rule_index: RuleIndex,
    group: Sequence[str],
    open_facts: OpenFacts,
    decisive_values: Mapping[str, Value] | None = None,
    *,
    few: bool = False,
) -> list[dict[str, Value]]:
    """Values to try: each fact runs through its own, all of the group side by side.

    Args:
        rule_index: rules and producers.
        group: facts that vary.
        open_facts: what each may be.
        decisive_values: values that have made a difference before; they are tried first.
        few: two values of each: the ends.
    """
    probes = {name: _probes(rule_index, name, open_facts) for name in group}
    if few:
        probes = {name: values[:2] for name, values in probes.items()}
    elif decisive_values:
        known = {name: [decisive_values[name]] for name in probes if decisive_values.get(name) in probes[name]}
        probes = {name: list(dict.fromkeys([*known.get(name, ()), *values])) for name, values in probes.items()}
    rounds = max((len(values) for values in probes.values()), default=0)
    return [{name: values[index % len(values)] for name, values in probes.items() if values} for index in range(rounds)]


def _probes(rule_index: RuleIndex, name: str, open_facts: OpenFacts) -> list[Value]:
    """The values of a fact that are tried, the ends first: all choices, or ends and constants of its domain."""
    values = [value for value in (open_facts.values.get(name) or rule_index.values[name] or ()) if value is not None]
    fact = rule_index.advisor.vocabulary.facts[name]
    if not fact.numeric:
        return _ends_first(values[:32])
    numbers = sorted({value for value in values if isinstance(value, int | float) and value <= _LARGE})
    return _ends_first(spread(numbers, _MOST_PROBES))


def _ends_first(values: Sequence[Value]) -> list[Value]:
    return [*values[:1], *values[:0:-1]]
