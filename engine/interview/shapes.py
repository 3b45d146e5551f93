"""Which open facts shape the plans: found by making the plans again over the values that stand for each."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.partial_plans import Draft
from whichgpu.engine.interview.partial_plans import difference
from whichgpu.engine.interview.partial_plans import draft
from whichgpu.engine.interview.partial_plans import try_draft
from whichgpu.engine.interview.possible_outcomes import Fog
from whichgpu.engine.interview.rule_index import Atlas
from whichgpu.engine.rules.language.domains import spread


#: At most so many values of one fact are tried.
_MOST_PROBES = 5
#: Numbers beyond this say nothing about plans that a smaller one would not.
_LARGE = 1e6


@dataclass(slots=True)
class Shapes:
    """The plans of a state, which open facts shape them, and which plan facts the others still move."""

    base: Draft
    shaping: tuple[str, ...] = ()
    moved: dict[str, frozenset[str]] = field(default_factory=dict)  # plan fact -> askable facts that move it
    silent: frozenset[str] = frozenset()  # read while planning, and tried without effect on what ranks plans


@dataclass(slots=True)
class Workshop:
    """Makes plans for states, and remembers them: an answer that planning does not read makes no new plans."""

    atlas: Atlas
    _drafts: dict[tuple[object, ...], Draft | None] = field(default_factory=dict)
    _last: tuple[dict[str, Value], tuple[int, ...], Shapes] | None = None

    def draft(self, given: Mapping[str, Value], counts: tuple[int, ...] = ()) -> Draft:
        """The plans of these facts. Raises InputError for a model that nobody knows."""
        key = (tuple(sorted(given.items())), counts)
        found = self._drafts.get(key)
        if found is None:
            found = self._drafts[key] = draft(self.atlas.advisor, given, counts)
        return found

    def tried(self, given: Mapping[str, Value], counts: tuple[int, ...]) -> Draft | None:
        """The same, or None where these facts cannot stand together."""
        key = (tuple(sorted(given.items())), counts)
        if key not in self._drafts:
            self._drafts[key] = try_draft(self.atlas.advisor, given, counts)
        return self._drafts[key]

    def shapes(
        self, given: Mapping[str, Value], fog: Fog, topics: Sequence[Sequence[str]], counts: tuple[int, ...] = ()
    ) -> Shapes:
        """Which open facts shape the plans, up to the first topic in which one does.

        Args:
            given: what is known.
            fog: what is open.
            topics: open askable facts, topic by topic, in the order in which topics are asked.
            counts: of GPUs, that rules may yet want planned: they are among the plans whatever is answered.
        """
        base = self.draft(given, counts)
        found = self._still_stands(given, counts, base)
        if found is not None:
            return found
        read = frozenset(fog.values) if base.copied else base.read
        concerned = fog.behind(read)
        moved: dict[str, set[str]] = {}
        silent: set[str] = set()
        for topic in topics:
            group = [name for name in topic if name in concerned]
            together = self._vary(given, counts, base, group, fog)
            if together is not None:
                silent |= set(group)
                for name in together:
                    moved.setdefault(name, set()).update(group)
                continue
            return Shapes(base, self._alone(given, counts, base, group, fog))
        found = Shapes(base, (), _frozen(moved), frozenset(silent))
        self._last = (_without(given, found.silent), counts, found)
        return found

    def _alone(
        self, given: Mapping[str, Value], counts: tuple[int, ...], base: Draft, group: Sequence[str], fog: Fog
    ) -> tuple[str, ...]:
        """The facts of a group, which together shape the plans, that do so by themselves."""
        facts = self.atlas.advisor.vocabulary.facts
        rest = sorted(group, key=lambda name: facts[name].askable != "always")
        alone = []
        while rest:
            name = rest.pop(0)
            if self._vary(given, counts, base, [name], fog) is None:
                alone.append(name)
                if self._vary(given, counts, base, rest, fog) is not None:
                    break  # None of the others does anything, even together.
        return tuple(sorted(alone or group))  # What shows only together is each one's doing.

    def _still_stands(self, given: Mapping[str, Value], counts: tuple[int, ...], base: Draft) -> Shapes | None:
        """What was found last, if since then only such facts were answered as move no plan, alone or together."""
        if self._last is None:
            return None
        before, planned, found = self._last
        now = _without(given, found.silent)
        fresh = now.keys() - before.keys()
        if (
            any(now.get(name) != value for name, value in before.items())
            or fresh & base.read
            or base.copied
            or planned != counts
        ):
            return None
        return replace(found, base=base) if difference(found.base, base) is not None else None

    def _vary(
        self, given: Mapping[str, Value], counts: tuple[int, ...], base: Draft, group: Sequence[str], fog: Fog
    ) -> frozenset[str] | None:
        """The plan facts that move as these facts vary together; None where plans or their ranking do."""
        moved: set[str] = set()
        for values in assignments(self.atlas, group, fog):
            other = self.tried({**given, **values}, counts)
            if other is None:
                continue
            differ = difference(base, other)
            if differ is None:
                return None
            moved |= differ
        return frozenset(moved)


def assignments(atlas: Atlas, group: Sequence[str], fog: Fog) -> list[dict[str, Value]]:
    """Values to try: each fact runs through its own, all of the group side by side."""
    probes = {name: _probes(atlas, name, fog) for name in group}
    rounds = max((len(values) for values in probes.values()), default=0)
    return [{name: values[index % len(values)] for name, values in probes.items() if values} for index in range(rounds)]


def _probes(atlas: Atlas, name: str, fog: Fog) -> list[Value]:
    """The values of a fact that are tried: all choices, or ends and constants of its domain."""
    values = [value for value in (fog.values.get(name) or atlas.values[name] or ()) if value is not None]
    fact = atlas.advisor.vocabulary.facts[name]
    if not fact.numeric:
        return values[:32]
    numbers = sorted({value for value in values if isinstance(value, int | float) and value <= _LARGE})
    return list(spread(numbers, _MOST_PROBES))


def _without(given: Mapping[str, Value], names: frozenset[str]) -> dict[str, Value]:
    return {name: value for name, value in given.items() if name not in names}


def _frozen(moved: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(causes) for name, causes in moved.items()}
