"""What hardware that is owned could do, where it is not the answer: as it is, or with the mildest change that fits it.

Each change is decided again, so that its cost and its speed are those of a plan that every rule has judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
from msgspec import Struct

from whichgpu.engine.advisor.outcome import Judged, Outcome, PlanRound, Rejection
from whichgpu.engine.advisor.pipeline import DecisionContext, round_on
from whichgpu.engine.core import Value
from whichgpu.engine.plans import Plan, PlanMaker, changes_that_fit, count_owned, owned_gpus
from whichgpu.engine.rules import probing
from whichgpu.engine.sizing import FitChange


#: How many changes are decided again: a decision takes about a tenth of a second.
_MOST_DECISIONS = 4


class OwnedUse(Struct, frozen=True):
    """A plan on hardware that is owned, with the changes that it takes. Ratios are its figures by the answer's."""

    plan: Plan
    changes: tuple[FitChange, ...] = ()
    rejection: Rejection | None = None  # why it does not do, though it holds the job
    cost_ratio: float | None = None
    speed_ratio: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it holds the job, so changed."""
        return self.plan.facts.get("plan.fits") is True

    @property
    def facts(self) -> dict[str, Value]:
        """What to state for it."""
        return {name: value for change in self.changes for name, value in change.facts.items()}


@probing()
def owned_use(context: DecisionContext, given: Mapping[str, Value], outcome: Outcome) -> OwnedUse | None:
    """What the hardware that is owned could do; None where it is the answer, or none is owned.

    Args:
        context: what the answer was decided with.
        given: what was stated.
        outcome: the answer.
    """
    if _used_or_none(outcome):
        return None
    use = owned_as_it_is(outcome)
    if use is not None:
        return use
    answer = outcome.chosen
    maker = context.plan_maker(outcome.model, outcome.intake)
    plans = [plan for plan in _all_of_each(maker, outcome) if plan.memory is not None]
    if not plans:
        return None
    # The most that stands there comes nearest.
    largest = max(plans, key=lambda plan: (plan.count * (plan.gpu.usable_gb or 0.0), plan.id))
    held: OwnedUse | None = None
    for changes in islice(changes_that_fit(largest, maker), _MOST_DECISIONS):
        facts = {name: value for change in changes for name, value in change.facts.items()}
        changed = round_on(context, {**given, **facts}, outcome.objective)
        use = _on_owned(changed, answer, changes) if changed else None
        if use is not None and use.rejection is None:
            return use
        held = held or use
    return held or OwnedUse(largest)


def owned_as_it_is(outcome: Outcome) -> OwnedUse | None:
    """``owned_use`` without changing a fact, which takes no further decision; None where the job does not fit."""
    return None if outcome.round is None or _used_or_none(outcome) else _on_owned(outcome.round, outcome.chosen)


def _used_or_none(outcome: Outcome) -> bool:
    """Whether what is owned is the answer, or nothing is owned, or nothing was planned."""
    answer = outcome.chosen
    used = answer is not None and answer.ranked.plan.cost.origin == "owned"
    return used or outcome.round is None or "gpus_owned" not in outcome.intake.facts


def _on_owned(found: PlanRound, answer: Judged | None, changes: tuple[FitChange, ...] = ()) -> OwnedUse | None:
    """The best plan on what is owned that no rule rejects, else the fastest of those that hold the job, if any does."""
    entry = next((found.judged[place] for place in np.flatnonzero(found.surviving.yes("plan.owned")).tolist()), None)
    if entry is not None:
        mine, its = entry.measures, answer.measures if answer else None
        cost = mine.cost / its.cost if its and its.cost and mine.cost is not None else None
        speed = its.time / mine.time if its and its.time and mine.time else None
        return OwnedUse(entry.ranked.plan, changes, None, cost, speed)
    rows = np.flatnonzero(found.rejected.yes("plan.owned") & found.rejected.yes("plan.fits")).tolist()
    if not rows:
        return None
    fastest = max(rows, key=lambda row: (_speed(found.rejected[row]), found.rejected[row].id))
    return OwnedUse(found.rejected[fastest], changes, found.rejections[fastest])


def _all_of_each(maker: PlanMaker, outcome: Outcome) -> Iterator[Plan]:
    """A plan on all that is owned of each GPU, whether the job fits it or not."""
    owned = owned_gpus(outcome.intake.facts)
    for gpu in maker.knowledge.plannable:
        count = count_owned(gpu, owned)
        if count:
            yield maker.plan(gpu, count, "owned", layout=maker.layout_at_hand(gpu, count))


def _speed(plan: Plan) -> float:
    return float(plan.facts.get("plan.tokens_per_s") or plan.facts.get("plan.samples_per_s") or 0.0)  # type: ignore[arg-type]
