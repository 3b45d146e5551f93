"""Plans as far as they can be made before all is known, what they were made from, and how two sets of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import Advisor, MeasureColumns, asked_counts, is_job, measures_among
from whichgpu.engine.core import Column, Facts, FactTable, NumberColumn, Numbers, Value, WordColumn
from whichgpu.engine.plans import candidate_plans


#: Plan facts that choosing itself reads beside cost and time. Others matter only to rules that read them.
RANKED_BY = frozenset(
    {
        "plan.fits",
        "plan.joined_nodes",
        "plan.meets_with_room",
        "plan.nodes",
        "plan.pcie_gpus",
        "plan.qps",
        "plan.replicas",
        "plan.usd_per_hour",
    }
)
#: Room for rounding where two scales are compared.
_CLOSE = 1e-9


class Watched(dict[str, Value]):
    """Facts that remember which names were looked up, found or not. Copying them whole counts as reading them all."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.read: set[str] = set()
        self.copied = False

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        """As a dict does; the lookup is recorded."""
        self.read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Value:
        self.read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return super().__contains__(key)

    def __iter__(self):  # type: ignore[no-untyped-def]
        self.copied = True
        return super().__iter__()

    def keys(self):  # type: ignore[no-untyped-def]
        """As a dict does; the lookup is recorded."""
        self.copied = True
        return super().keys()

    def items(self):  # type: ignore[no-untyped-def]
        """As a dict does; the lookup is recorded."""
        self.copied = True
        return super().items()


class PartialPlans(Struct, frozen=True):
    """The plans of one set of facts as columns, and the names of all facts that were looked at."""

    ids: tuple[str, ...]
    facts: FactTable
    read: frozenset[str]
    copied: bool
    job: bool  # whether plans are compared by the piece of work
    measures: MeasureColumns  # cost and time as choosing compares them

    def among(self, ids: Sequence[str]) -> PartialPlans | None:
        """The plans with these ids alone; None if one is not planned, or if its measures depend on the other plans."""
        place = {name: row for row, name in enumerate(self.ids)}
        if self.job or not place.keys() >= set(ids):
            return None
        rows = np.array([place[name] for name in ids], np.intp)
        return replace(self, ids=tuple(ids), facts=self.facts.take(rows), measures=self.measures.take(rows))


def partial_plans(advisor: Advisor, given: Mapping[str, Value], counts: Sequence[int] = ()) -> PartialPlans:
    """Make the plans of these facts, watching what is read; ``counts`` of GPUs are planned beside those asked for."""
    context = advisor.context
    intake, model = context.resolve(given)
    facts = Watched(intake.facts)
    maker = context.plan_maker(model, replace(intake, facts=facts))
    asked = {**dict.fromkeys(counts, "a rule"), **asked_counts(intake.fired)}
    plans = candidate_plans(maker.job, facts, context.knowledge, asked, maker=maker)
    job = is_job(facts)
    measures = measures_among(plans, facts, advisor.objective(None, given), context.knowledge.highest_usd_per_gpu_hour)
    return PartialPlans(tuple(plans.ids), plans.facts, frozenset(facts.read), facts.copied, job, measures)


def difference(one: PartialPlans, other: PartialPlans) -> frozenset[str] | None:
    """The names of plan facts that differ; None where the plans themselves or what ranking reads do."""
    if one.ids != other.ids or one.job != other.job or not _same_but_for_scale(one.measures, other.measures):
        return None
    names = one.facts.names | other.facts.names
    # What ranking reads first: where it differs the rest does not matter.
    if any(_differ(one.facts.own(name), other.facts.own(name)) for name in names & RANKED_BY):
        return None
    return frozenset(name for name in names if _differ(one.facts.own(name), other.facts.own(name)))


def _differ(one: Column | None, other: NumberColumn | WordColumn | None) -> bool:
    """Whether a fact differs in any row."""
    if isinstance(one, NumberColumn) and isinstance(other, NumberColumn):
        return not _same(one.values, other.values)
    if isinstance(one, WordColumn) and isinstance(other, WordColumn) and one.words == other.words:
        return one.codes.tobytes() != other.codes.tobytes()
    if one is None and other is None:
        return False
    size = max(len(column[0]) for column in (one, other) if column is not None)
    mine, theirs = ([None] * size if c is None else c.values_at(np.arange(size)) for c in (one, other))
    return mine != theirs


def _same(one: Numbers, other: Numbers) -> bool:
    """Whether two columns hold the same. Most do to the bit, which takes a tenth of the time to see."""
    return one.tobytes() == other.tobytes() or np.array_equal(one, other, equal_nan=True)


def _same_but_for_scale(one: MeasureColumns, other: MeasureColumns) -> bool:
    """Whether costs and times are the same up to a factor that all plans share: choosing compares ratios alone."""
    for figure in ("cost", "time", "weighed_cost", "weighed_time", "perceived_time", "lateness"):
        mine, theirs = getattr(one, figure), getattr(other, figure)
        if _same(mine, theirs):
            continue
        compared = ~((np.isnan(mine) & np.isnan(theirs)) | ((mine == 0) & (theirs == 0)))
        mine, theirs = mine[compared], theirs[compared]
        if not len(mine):
            continue
        if not (np.all(np.nan_to_num(mine) != 0) and np.all(np.nan_to_num(theirs) != 0)):
            return False
        if np.any(np.abs(theirs - mine * (theirs[0] / mine[0])) > _CLOSE * theirs):
            return False
    return True
