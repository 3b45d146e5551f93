"""Figures of plans as thresholds: a limit on latency, hours or cost lets a plan in exactly at its own figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whichgpu.engine.advisor import Advisor, Outcome
from whichgpu.engine.core import Facts, is_number
from whichgpu.engine.rules import Compare, Expr, FactRef, Rule, evaluate, facts_read, leaves


#: Plans whose figures are tried, on either side of a limit's present value.
_NEAREST = 6


def plan_figures(
    advisor: Advisor, outcome: Outcome, gpus: frozenset[str] | None = None
) -> Mapping[str, tuple[float, ...]]:
    """For each fact of the workload that rules hold a plan's figure against: these figures, nearest to it first.

    Args:
        advisor: whose rules reject or prefer plans.
        outcome: whose plans are looked at.
        gpus: plans of these alone; of all, if None.
    """
    if outcome.round is None:
        return {}
    compared = dict(_compared(advisor.rulebook.rules))
    plans = [dict(facts) for facts in _facts_of_plans(outcome, gpus)]
    known = outcome.intake.facts
    found: dict[str, tuple[float, ...]] = {}
    for name, sides in compared.items():
        values = {float(v) for facts in plans for side in sides if is_number(v := evaluate(side, {**known, **facts}))}
        if values:
            found[name] = _nearest(values, known.get(name))
    return found


def _compared(rules: tuple[Rule, ...]) -> Iterator[tuple[str, list[Expr]]]:
    """Each fact of the workload that stands alone on one side of a comparison, with the other sides that read plans."""
    found: dict[str, list[Expr]] = {}
    for rule in rules:
        if rule.stage not in ("reject", "prefer"):
            continue
        for leaf in (leaf for condition in rule.when for leaf in leaves(condition.expr)):
            if not isinstance(leaf, Compare):
                continue
            for one, other in ((leaf.left, leaf.right), (leaf.right, leaf.left)):
                of_plans = any(name.startswith(("plan.", "gpu.")) for name in facts_read(other))
                if isinstance(one, FactRef) and "." not in one.name and of_plans:
                    found.setdefault(one.name, []).append(other)
    yield from found.items()


def _facts_of_plans(outcome: Outcome, gpus: frozenset[str] | None) -> Iterator[Facts]:
    if outcome.round is None:
        return
    for entries, table in (
        (outcome.round.judged, outcome.round.surviving),
        (outcome.round.rejections, outcome.round.rejected),
    ):
        for place, gpu in enumerate(table.gpus):
            if gpus is None or gpu.id in gpus:
                yield entries[place].facts


def _nearest(values: set[float], now: object) -> tuple[float, ...]:
    """The figures next to the present value, on either side; next to the middle one where there is none."""
    ordered = sorted(values)
    middle = float(now) if is_number(now) else ordered[len(ordered) // 2]
    below = [value for value in ordered if value <= middle][-_NEAREST:]
    above = [value for value in ordered if value > middle][:_NEAREST]
    return (*reversed(below), *above)
