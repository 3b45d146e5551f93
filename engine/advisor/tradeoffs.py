"""Trade-offs: what would be cheaper or faster if one thing were allowed. Each is decided again, so that it is true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor.margins import MARGINS, with_margin
from whichgpu.engine.advisor.measures import is_job
from whichgpu.engine.advisor.options import Kind, Option, TradeOffSettings, options_of
from whichgpu.engine.advisor.outcome import Judged, Outcome, PlanRound
from whichgpu.engine.advisor.pipeline import DecisionContext, round_on
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.core import Value
from whichgpu.engine.plans import Plan, load_economics, usage_of
from whichgpu.engine.rules import probing


class TradeOff(Struct, frozen=True):
    """One option and the plan that it leads to. Ratios are its figure by the answer's."""

    kind: Kind
    fact: str | None  # None where nothing that is stated changes
    value: Value | None  # None takes the fact away
    plan: Plan
    usd_per_hour: float | None  # of the option: on spot or with a commitment it is not the plan's
    cost_ratio: float | None
    speed_ratio: float | None
    term_months: int | None = None
    asks_for: str | None = None  # as a sentence

    @property
    def clear_by(self) -> float:
        """The larger of its gains in cost and in speed."""
        return max(1 / self.cost_ratio if self.cost_ratio else 0.0, self.speed_ratio or 0.0)

    def gain(self, objective: Objective) -> float:
        """How many times better it is by the objective; unknown figures count as the answer's."""
        cheaper = (self.cost_ratio or 1.0) ** -objective.cost_exponent
        return float(cheaper * (self.speed_ratio or 1.0) ** objective.time_exponent)


@probing()
def trade_offs(
    context: DecisionContext,
    given: Mapping[str, Value],
    outcome: Outcome,
    objectives: Mapping[str, Objective],
    settings: TradeOffSettings,
) -> tuple[TradeOff, ...]:
    """What would be clearly cheaper or faster than the answer, the largest gain by its objective first.

    Before all stands what would put to use cards that are owned and idle, then what would do at the unlucky ends of the
    bands what the answer does by the estimate. Where no plan qualifies: what would let one, and which.

    Args:
        context: what the answer was decided with.
        given: what was stated.
        outcome: the answer.
        objectives: by name.
        settings: what is tried, and how much of it.
    """
    answer = outcome.chosen
    if answer is None:
        if outcome.no_answer is None or outcome.no_answer.kind != "nothing_fits":
            return ()
        options = options_of(outcome, given, objectives, settings, context)
        return _openings(options, lambda changes: round_on(context, changes, outcome.objective), given, settings)
    least = 1 + settings.least_gain
    found = list(_owned(outcome, answer, least))
    found += [entry for entry in _commitments(outcome, answer) if entry.clear_by >= least]
    found += [beside(kind, entry, answer) for kind, entry in with_margin(outcome)]
    search = _Search(context, given, outcome, answer, objectives, settings, settings.most_decisions)
    options = options_of(outcome, given, objectives, settings, context)
    # Those of the objective are tried last and always.
    reserved = sum(option.kind == "objective" for option in options)
    for option in options:
        found += search.gains(option, least, keep=0 if option.kind == "objective" else reserved)

    def order(entry: TradeOff) -> tuple[object, ...]:
        # What would put to use what stands there is what its owner looks for.
        idle = entry.plan.cost.origin == "owned" != answer.ranked.plan.cost.origin
        return (
            not idle,
            entry.kind not in MARGINS,
            -entry.gain(outcome.objective),
            -entry.clear_by,
            entry.kind,
            entry.fact or "",
            entry.plan.id,
        )

    distinct: dict[tuple[object, ...], TradeOff] = {}  # One change of a fact and plan is said once.
    for entry in sorted(found, key=order):
        distinct.setdefault((entry.kind, entry.fact, entry.plan.id, entry.term_months), entry)
    return tuple(distinct.values())[: settings.most_listed]


def _openings(
    options: Iterable[Option],
    decide: Callable[[dict[str, Value]], PlanRound | None],
    given: Mapping[str, Value],
    settings: TradeOffSettings,
) -> tuple[TradeOff, ...]:
    """What would let a plan qualify where none does, the mildest step of each kind, and the plan that comes first."""
    tries = ((option, value) for option in options if option.kind != "objective" for value in option.values)
    found: dict[tuple[Kind, str], TradeOff] = {}
    for option, value in islice(tries, settings.most_decisions):
        key = option.kind, option.fact
        made = decide(changed(given, option.fact, value)) if key not in found else None
        best = made.judged[0] if made and made.judged else None
        if best is not None and best.ranked.proven:
            plan = best.ranked.plan  # There is nothing to compare it with.
            found[key] = TradeOff(*key, value, plan, plan.cost.usd_per_hour, None, None, asks_for=option.asks_for)
    return tuple(found.values())[: settings.most_listed]


def changed(given: Mapping[str, Value], name: str, value: Value | None) -> dict[str, Value]:
    """The facts with one of them set, or taken away."""
    others = {known: each for known, each in given.items() if known != name}
    return others if value is None else {**others, name: value}


@dataclass(slots=True)
class _Search:
    """Decides options, at most ``left`` of them."""

    context: DecisionContext
    given: Mapping[str, Value]
    outcome: Outcome
    answer: Judged
    objectives: Mapping[str, Objective]
    settings: TradeOffSettings
    left: int

    def gains(self, option: Option, least: float, *, keep: int) -> list[TradeOff]:
        """What an option brings: of nested values the first that is clear, of others each that is clearly more."""
        if option.nested:
            loosest = self._clear(option, option.values[-1], least, keep)
            if loosest is None:
                return []
            milder = (self._clear(option, value, least, keep) for value in option.values[:-1])
            return [next((entry for entry in milder if entry is not None), loosest)]
        kept: list[TradeOff] = []
        reached = 1.0
        for value in option.values:
            entry = self._clear(option, value, least, keep)
            if entry is not None and entry.clear_by >= least * reached:
                kept.append(entry)
                reached = entry.clear_by
        return kept

    def _clear(self, option: Option, value: Value | None, least: float, keep: int) -> TradeOff | None:
        if self.left <= keep:
            return None
        self.left -= 1
        entry = self._decided(option, value)
        return entry if entry is not None and entry.clear_by >= least else None

    def _decided(self, option: Option, value: Value | None) -> TradeOff | None:
        given, objective = changed(self.given, option.fact, value), self.outcome.objective
        if option.kind == "objective":
            objective = replace(self.objectives[str(value)], stated=True)
        refuses = bool(self.outcome.round and self.outcome.round.refused)
        found = round_on(self.context, given, objective, banded=refuses)
        best = found.judged[0] if found and found.judged else None
        if best is None or (self.answer.ranked.proven and not best.ranked.proven):
            return None
        if option.kind == "load" and best.ranked.plan.id == self.answer.ranked.plan.id:
            return None  # The same plan at the same price for less work is nothing to choose.
        entry = beside(option.kind, best, self.answer)
        if option.kind == "spot":
            unchanged = beside("spot", self.answer, self.answer)
            on_spot = tuple(filter(None, map(self._on_spot, (entry, unchanged))))
            if not on_spot:
                return None  # What costs as much without interruptions is no gain of allowing them.
            entry = min(on_spot, key=lambda each: each.cost_ratio or 1.0)
        wanted = self._wanted(option.kind, entry, objective)
        return replace(entry, fact=option.fact, value=value, asks_for=option.asks_for) if wanted else None

    def _on_spot(self, entry: TradeOff) -> TradeOff | None:
        """The plan at its interruptible price; None where none is known that is lower.

        Nor where so many machines work as one that the loss of any would stop it most of the time.
        """
        cost, joined = entry.plan.cost, entry.plan.facts.get("plan.joined_nodes", entry.plan.nodes)
        spot, hour = cost.spot_usd_per_hour, cost.usd_per_hour
        if cost.origin != "offer" or spot is None or not hour or spot >= hour:
            return None
        if isinstance(joined, int) and joined > self.settings.spot_most_joined_machines:
            return None
        return _priced(entry, spot, spot / hour)

    def _wanted(self, kind: Kind, entry: TradeOff, objective: Objective) -> bool:
        """Whether somebody could want what an option leads to, for what it gives up."""
        match kind:
            case "target" | "load":
                return (entry.cost_ratio or 0.0) <= 1  # Who asks for less pays no more.
            case "precision":
                return entry.gain(objective) >= 1
            case "offload":
                return (entry.speed_ratio or 1.0) >= self.settings.offload_least_speed
            case "objective":
                return _lives_up_to(entry, objective, self.outcome.objective)
            case _:
                return True


def _lives_up_to(entry: TradeOff, objective: Objective, now: Objective) -> bool:
    """Whether the plan of another objective is indeed cheaper or faster: more GPUs may be faster than is worth it."""
    ratio = entry.speed_ratio if not objective.cost_exponent else 1 / entry.cost_ratio if entry.cost_ratio else None
    return ratio is not None and ratio >= 1 + now.dominance_margin


def beside(kind: Kind, entry: Judged, answer: Judged) -> TradeOff:
    """A plan beside the answer, with nothing changed yet."""
    mine, its = entry.measures, answer.measures
    return TradeOff(
        kind=kind,
        fact=None,
        value=None,
        plan=entry.ranked.plan,
        usd_per_hour=entry.ranked.plan.cost.usd_per_hour,
        cost_ratio=_ratio(mine.cost, its.cost),
        speed_ratio=_ratio(its.time, mine.time),
    )


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _priced(entry: TradeOff, usd_per_hour: float, share: float) -> TradeOff:
    """This plan at another price, ``share`` of its own."""
    cost_ratio = entry.cost_ratio * share if entry.cost_ratio is not None else None
    return replace(entry, usd_per_hour=usd_per_hour, cost_ratio=cost_ratio)


def _owned(outcome: Outcome, answer: Judged, least: float) -> Iterator[TradeOff]:
    """Beside hardware that is there: the best plan to pay for that is faster; beside another answer: what is there."""
    has = answer.ranked.plan.cost.origin == "owned"
    for place in np.flatnonzero(outcome.round.surviving.yes("plan.owned") != has).tolist() if outcome.round else ():
        entry = outcome.judged[place]
        if not entry.ranked.proven:
            continue
        option = beside("owned", entry, answer)
        if not has or (entry.fallbacks == () and (option.speed_ratio or 0.0) >= least):
            yield option
            return


def _commitments(outcome: Outcome, answer: Judged) -> Iterator[TradeOff]:
    """The answer at the price of each term, where every hour is paid for."""
    plan = answer.ranked.plan
    cost, facts = plan.cost, outcome.intake.facts
    if cost.origin != "offer":
        return
    constants = load_economics()
    months = facts.get("project_months")
    if is_job(facts) and facts.get("always_on") is not True and usage_of(facts, plan.count, constants) is None:
        return  # Nothing says that a run goes on for the length of a term.
    for commitment in cost.committed:
        if isinstance(months, int | float) and months < commitment.term_months:
            continue
        monthly = commitment.usd_per_hour * constants["hours_per_month"].value
        if cost.usd_per_month and cost.usd_per_hour:
            same = beside("commitment", answer, answer)
            option = _priced(same, commitment.usd_per_hour, monthly / cost.usd_per_month)
            yield replace(option, term_months=commitment.term_months)
