"""The arithmetic of a record: how its figures follow from inputs and constants, stated and evaluated again.

What memory, speed, cost and the comparison of renting with owning come to is stated as it was computed
(``formulas``). Sums over what the record lists are stated once for all plans; such an expression holds for every plan
in whose trace all that it reads stands, but for plans that it excepts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from msgspec import Struct

from whichgpu.engine.core import is_number
from whichgpu.engine.records.evaluation import SOLVED, Names, agree
from whichgpu.engine.records.formulas import figures_of
from whichgpu.engine.records.plan_lines import plan_id


#: By figure. ``sum(points)`` adds the points that count, ``median(quotes)`` is over the providers in the figure's
#: entry, ``least`` and ``count`` over the plans that no rule rejects; days are counted from the first of the calendar.
EXPRESSIONS = (
    ("plan.per_gpu_gb", "sum(memory)"),
    ("cost.usd_per_hour", "median(quotes)"),
    ("cost.usd_per_hour", "plan.usd_per_hour"),
    ("cost.rented_usd_per_hour", "median(rented)"),
    ("cheapest_usd_per_hour", "least(usd_per_hour)"),
    ("surviving_plans", "count(surviving)"),
    ("min_gpu_count", "least(fewest)"),
    ("price_age_days", "max(0, decided_day - price_day)"),
    ("score", "sum(points)"),
)
#: Numbers that no formula computes: how the planner laid a plan out, how few GPUs it found to do, and what it fixes.
_CHOSEN_BY = frozenset({"plans.layout", "sizing.job", "candidates"})


#: Of older records.
NO_ARITHMETIC: dict[str, Any] = {"constants": [], "expressions": []}
_NO_FORMULAS: dict[str, Any] = {"texts": [], "constants": [], "figures": {}, "parts": {}, "plans": {}}
_NO_PLAN: dict[str, dict[str, Any]] = {"figures": {}, "parts": {}, "inputs": {}, "zeros": {}}


class Arithmetic(Struct, frozen=True):
    """What came of evaluating a record's expressions."""

    derived: int  # figures that were evaluated and agree
    in_words: int  # computed figures whose formula is a sentence
    faults: tuple[str, ...] = ()
    constants: int = 0  # that they end in, beside what is stated and looked up
    words: tuple[str, ...] = ()  # names of such figures
    searched: int = 0  # counts and splits that the planner found by trying, which no formula gives


def arithmetic_of(answer: Mapping[str, Any], plans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The expressions that hold over the figures of an answer.

    Args:
        answer: whole.
        plans: the lines of all plans.
    """
    stated: dict[str, Any] = {"constants": [], "expressions": []}
    scopes = _scopes(answer, stated, plans)
    for figure, expression in EXPRESSIONS:
        found = [(scope.name, scope.differs(figure, expression)) for scope in scopes]
        excepted = [name for name, differs in found if differs]
        # One that fails for most plans is another formula that agrees by chance.
        if sum(differs is False for _, differs in found) > len(excepted):
            stated["expressions"].append({"figure": figure, "expression": expression, "except": excepted})
    return stated


def check_arithmetic(
    answer: Mapping[str, Any], stated: Mapping[str, Any], plans: Sequence[Mapping[str, Any]] = ()
) -> Arithmetic:
    """Evaluate the expressions and formulas of a record over its own entries.

    Args:
        answer: whole.
        stated: the record's ``arithmetic``.
        plans: the lines of all plans.
    """
    faults: list[str] = []
    covered: set[tuple[str, str]] = set()
    formulas = stated.get("formulas", _NO_FORMULAS)
    for scope in _scopes(answer, stated, plans):
        for entry in stated["expressions"]:
            if scope.name not in entry["except"]:
                differs = scope.differs(entry["figure"], entry["expression"])
                if differs:
                    faults.append(f"{scope.name}: {entry['figure']} is not {entry['expression']}")
                elif differs is False:
                    covered.add((scope.name, entry["figure"]))
        for figure, number in figures_of(formulas, scope.name, scope.numbers).items():
            value, given = scope.numbers.get(figure), scope.names.text(number)
            if value is None or given is None or not agree(value, given):
                faults.append(f"{scope.name}: {figure} is not what its formula gives")
            else:
                covered.add((scope.name, figure))
        for name, number in formulas["plans"].get(scope.name, _NO_PLAN)["zeros"].items():
            left = scope.names.text(number)
            if left is None or abs(left) > SOLVED:
                faults.append(f"{scope.name}: {name} does not solve its equation")
    words = [name for scope, name in _computed(answer) if (scope, name) not in covered]
    constants = len(stated["constants"]) + len(formulas["constants"])
    searched = sum(1 for _ in _computed(answer, searched=True))
    return Arithmetic(len(covered), len(words), tuple(faults), constants, tuple(dict.fromkeys(words)), searched)


def numbers_by_scope(answer: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The numbers that an answer states of each plan it shows, and of the workload: its trace, and the bands."""
    return {scope.name: dict(scope.numbers) for scope in _scopes(answer, {"constants": []}, ())}


def _computed(answer: Mapping[str, Any], *, searched: bool = False) -> Iterator[tuple[str, str]]:
    """Each number of the trace that was computed, or each that was searched for: its plan and its name."""
    for entry in answer["trace"]:
        if entry["kind"] == "computed" and (entry["calculator"] in _CHOSEN_BY) is searched:
            yield from ((entry["scope"], name) for name, value in entry["effects"].items() if is_number(value))


class _Scope(Struct, frozen=True):
    """What a plan, or the workload, states, and what names stand for in its expressions."""

    name: str
    numbers: Mapping[str, float]
    names: Names

    def differs(self, figure: str, expression: str) -> bool | None:
        """Whether a figure is not what its expression gives; None where one of the two is not known."""
        value = self.numbers.get(figure)
        given = None if value is None else self.names.value(expression)
        return None if value is None or given is None else not agree(value, given)


def _scopes(answer: Mapping[str, Any], stated: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> list[_Scope]:
    formulas = stated.get("formulas", _NO_FORMULAS)
    constants = {entry["name"]: entry["value"] for entry in (*stated["constants"], *formulas["constants"])}
    shown = [answer["recommendation"], *answer["alternatives"], *(entry["plan"] for entry in answer["candidates"])]
    plans = {plan_id(plan): plan for plan in reversed(shown) if plan}
    by_scope: dict[str, list[Any]] = {}
    for entry in answer["trace"]:
        by_scope.setdefault(entry["scope"], []).append(entry)
    chosen = answer["recommendation"] and plan_id(answer["recommendation"])
    shared = _numbers(by_scope.get("workload", ()))
    survey, days = _lists_of(lines), _days(answer)
    found = []
    for scope in dict.fromkeys((*plans, *by_scope)):
        entries = by_scope.get(scope, [])
        own = shared if scope == "workload" else _numbers(entries)
        lists = dict(survey)
        if scope == "workload":
            # What is bought or rented in the end is the recommended plan.
            own = {**_numbers(by_scope.get(chosen, ())), **own, **_bands(answer["figures"])} if chosen else own
        elif scope in plans:
            own = {**own, **_plan_numbers(plans[scope], entries)}
            lists |= _plan_lists(plans[scope], entries, own)
        stays = formulas["plans"].get(scope, _NO_PLAN)
        known = {"inf": math.inf, **days, **constants, **shared, **own, **stays["inputs"]}
        names = Names(known, lists, formulas["texts"], {**formulas["parts"], **stays["parts"]})
        found.append(_Scope(scope, own, names))
    return found


def _plan_numbers(plan: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    scored = [entry["effects"] for entry in entries if entry["kind"] == "scored" and not entry["rule"]]
    numbers = {f"points for {effects['reason']}": effects["points"] for effects in scored}
    if plan["score"] is not None:
        numbers["score"] = plan["score"]
    for name, value in (plan["speed"] or {}).items():
        figure, _, end = name.rpartition("_")
        if end in {"low", "high"} and is_number(value):
            numbers[f"speed.{figure}.{end}"] = value
    return numbers


def _plan_lists(
    plan: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], own: Mapping[str, float]
) -> dict[str, Sequence[float]]:
    asked = {
        word: tuple(
            item["value"]
            for entry in entries
            if figure in entry["effects"]
            for item in entry["matched"]
            if item["fact"].startswith("usd_per_hour ")
        )
        for word, figure in (("quotes", "cost.usd_per_hour"), ("rented", "cost.rented_usd_per_hour"))
    }
    lists: dict[str, Sequence[float]] = {
        "memory": tuple(value for name, value in own.items() if name.startswith("memory.")),
        "points": tuple(float(award["points"]) for award in plan["points"] if award.get("counted", True)),
        **asked,
    }
    return {name: values for name, values in lists.items() if values}


def _lists_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Any]]:
    """The plans that no rule rejects: which there are, what they cost an hour, and how few of their GPUs would do."""
    surviving = [line for line in lines if line["standing"] not in {"rejected", "refused"}]
    hourly = [line["figures"]["usd_per_hour"] for line in surviving if "usd_per_hour" in line["figures"]]
    sized = [line for line in surviving if "per_gpu_gb" in line["figures"]]
    fewest = [line["figures"].get("smallest_count", line["count"]) for line in sized]
    lists = {"surviving": surviving, "usd_per_hour": hourly, "fewest": fewest}
    return {name: values for name, values in lists.items() if values or name == "surviving"}


def _days(answer: Mapping[str, Any]) -> dict[str, float]:
    """The day of the decision, and the day on which the price of its plan was seen."""
    offer = (answer["recommendation"] or {}).get("offer") or {}
    found = {"decided_day": answer["decided_at"], "price_day": offer.get("as_of")}
    days: dict[str, float] = {}
    for name, written in found.items():
        with suppress(ValueError):
            days[name] = date.fromisoformat(str(written)[:10]).toordinal()
    return days


def _bands(figures: Mapping[str, Any]) -> dict[str, float]:
    return {
        f"{name}.{end}": figure[end]
        for name, figure in figures.items()
        for end in ("low", "high")
        if isinstance(figure, dict) and is_number(figure.get(end))
    }


def _numbers(entries: Any) -> dict[str, float]:
    """What entries state, and what they read that no entry states."""
    found: dict[str, float] = {}
    for entry in entries:
        for item in entry["matched"]:
            if is_number(item["value"]):
                found.setdefault(item["fact"], item["value"])
    for entry in entries:
        if entry["kind"] in ("given", "assumed", "looked_up", "computed", "derived"):
            found |= {name: value for name, value in entry["effects"].items() if is_number(value)}
    return found
