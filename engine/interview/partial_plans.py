"""Plans as far as they can be made before all is known, and which facts the making of them looked at."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.pipeline import asked_counts
from whichgpu.engine.advisor.survey import Measures
from whichgpu.engine.advisor.survey import is_job
from whichgpu.engine.advisor.survey import length_known
from whichgpu.engine.advisor.survey import measure
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.values import Facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.plans.candidates import candidate_plans


#: Plan facts that choosing itself reads beside cost and time. Others matter only to rules that read them.
RANKED_BY = frozenset({"plan.fits", "plan.usd_per_hour", "plan.pcie_gpus"})
#: Room for rounding where two scales are compared.
_CLOSE = 1e-9


class Watched(dict[str, Value]):
    """Facts that remember which names were looked up, found or not. Copying them whole counts as reading them all."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.read: set[str] = set()
        self.copied = False

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        """As a dict does, remembered."""
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
        """As a dict does, remembered."""
        self.copied = True
        return super().keys()

    def items(self):  # type: ignore[no-untyped-def]
        """As a dict does, remembered."""
        self.copied = True
        return super().items()


@dataclass(frozen=True, slots=True)
class Draft:
    """The plans of one set of facts by id, and the names of all facts that were looked at."""

    plans: Mapping[str, Facts]
    read: frozenset[str]
    copied: bool
    job: bool  # whether plans are compared by the piece of work
    measures: Mapping[str, Measures] = field(default_factory=dict)  # cost and time as choosing compares them
    nodes: Mapping[str, int] = field(default_factory=dict)


def draft(advisor: Advisor, given: Mapping[str, Value], counts: Sequence[int] = ()) -> Draft:
    """Make the plans of these facts, watching what is read; ``counts`` of GPUs are planned beside those asked for."""
    bench = advisor.bench
    intake, model = bench.settle(given)
    facts = Watched(intake.facts)
    maker = bench.plan_maker(model, replace(intake, facts=facts))
    asked = {**dict.fromkeys(counts, "a rule"), **asked_counts(intake.fired)}
    plans = candidate_plans(maker.job, facts, bench.knowledge, asked, maker=maker)
    job = is_job(facts)
    by_run = job and length_known(plans)
    objective = advisor.objective(None, given)
    highest = bench.knowledge.dearest_usd_per_gpu_hour
    return Draft(
        {plan.id: plan.facts for plan in plans},
        frozenset(facts.read),
        facts.copied,
        job,
        {
            p.id: measure(p, job=job, by_run=by_run, objective=objective, highest_usd_per_gpu_hour=highest)
            for p in plans
        },
        {plan.id: plan.nodes for plan in plans},
    )


def difference(one: Draft, other: Draft) -> frozenset[str] | None:
    """The names of plan facts that differ; None where the plans themselves or what ranking reads do."""
    if one.plans.keys() != other.plans.keys() or one.job != other.job or one.nodes != other.nodes:
        return None
    if not _same_but_for_scale(one.measures, other.measures):
        return None
    differ: set[str] = set()
    for name, facts in one.plans.items():
        theirs = other.plans[name]
        if facts == theirs:
            continue
        differ |= {key for key in facts.keys() | theirs.keys() if facts.get(key) != theirs.get(key)}
        if differ & RANKED_BY:
            return None
    return frozenset(differ)


def _same_but_for_scale(one: Mapping[str, Measures], other: Mapping[str, Measures]) -> bool:
    """Whether costs and times are the same up to a factor that all plans share: choosing compares ratios alone."""
    for figure in ("cost", "time", "weighed_cost", "weighed_time"):
        scale: float | None = None
        for name, measures in one.items():
            mine, theirs = getattr(measures, figure), getattr(other[name], figure)
            if mine == theirs == 0 or mine is theirs is None:
                continue
            if not mine or not theirs:
                return False
            scale = theirs / mine if scale is None else scale
            if abs(theirs - mine * scale) > _CLOSE * theirs:
                return False
    return True


def try_draft(advisor: Advisor, given: Mapping[str, Value], counts: Sequence[int] = ()) -> Draft | None:
    """The same, or None where these facts cannot stand together."""
    try:
        return draft(advisor, given, counts)
    except InputError:
        return None
