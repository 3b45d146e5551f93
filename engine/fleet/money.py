"""What jobs cost then, by what they say or by today's price of the same GPUs, and what the plan for them costs now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import InputError, Value
from whichgpu.engine.fleet.columns import Coded, Numbers, column_of_numbers, groups_of
from whichgpu.engine.fleet.mapping import Bad
from whichgpu.engine.plans import load_economics, offer_index
from whichgpu.engine.rules import FactDef, coerce


#: Hours that jobs ran: no limits beyond those of time, since a job of a second is a job too.
_HOURS = FactDef(name="then.hours", type="number", unit="h", min=0)


class Hardware(Struct, frozen=True):
    """What a name of a GPU came to."""

    gpu: str | None
    problem: str | None = None
    usable_gb: float | None = None


class Then(NamedTuple):
    """What the jobs of a batch ran on; NaN where it is not known."""

    hardware: Coded  # of Hardware
    gpus: Numbers
    hours: Numbers
    usd_per_hour: Numbers
    usd: Numbers
    price: Coded  # stated, offer, assumed or None
    problem: Coded


def then_of(stated: Mapping[str, Coded], rows: int, advisor: Advisor) -> Then:
    """The hardware and the money of a batch of jobs.

    Args:
        stated: what the jobs say, by ``mapping.THEN``.
        rows: of the batch.
        advisor: for names and prices.
    """
    nothing = Coded.constant(None, rows)

    def named(name: object) -> Hardware:
        if name is None or isinstance(name, Bad):
            return Hardware(None, name.problem.message if isinstance(name, Bad) else None)
        match = advisor.knowledge.find_gpu(str(name))
        if not match.found:
            return Hardware(None, f"no GPU is called {str(name)!r}")
        return Hardware(match.usual, None, advisor.knowledge.gpus[match.usual].usable_gb)

    hardware = stated.get("gpu", nothing).mapped(named)
    count, hours, per_hour, usd = (
        stated.get(name, nothing).mapped(_hours if name == "hours" else _number)
        for name in ("count", "hours", "usd_per_hour", "usd")
    )
    counts = count.numbers()
    listed, assumed = _listed(hardware, Coded(*column_of_numbers(counts)), rows, advisor)
    own = per_hour.numbers()
    rate = np.where(np.isnan(own), listed, own)
    spent = usd.numbers()
    ran = hours.numbers()
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(np.isnan(spent) | ~(ran > 0), rate, spent / ran)
    spent = np.where(np.isnan(spent), rate * ran, spent)
    said = ~np.isnan(own) | ~np.isnan(usd.numbers())
    kind = np.where(said, 1, np.where(np.isnan(listed), 0, np.where(assumed, 3, 2)))
    price = Coded(kind.astype(np.int64), [None, "stated", "offer", "assumed"])
    codes, first = groups_of((hardware, count, hours, per_hour, usd), rows)
    parts = [hardware, count, hours, per_hour, usd]
    problems = [_problem([part.values[part.codes[row]] for part in parts]) for row in first.tolist()]
    return Then(hardware, counts, ran, rate, spent, price, Coded(codes, problems or [None]))


def _listed(hardware: Coded, count: Coded, rows: int, advisor: Advisor) -> tuple[Numbers, Any]:
    """What renting the same GPUs asks an hour today, and whether that is scaled from other machines."""
    index = offer_index(advisor.knowledge, load_economics())
    codes, first = groups_of((hardware, count), rows)
    rates, assumed = np.full(max(1, len(first)), np.nan), np.zeros(max(1, len(first)), np.bool_)
    for group, row in enumerate(first.tolist()):
        name, number = hardware.values[hardware.codes[row]].gpu, count.values[count.codes[row]]
        if name is None or not number or number <= 0:
            continue
        gpu, whole = advisor.knowledge.gpus[name], max(1, round(number))
        rental = index.rental(gpu, whole, min(whole, gpu.node_gpus))
        if rental is not None:
            # A share of one card costs its share of the card.
            rates[group] = rental.usd_per_hour * number / whole
            assumed[group] = rental.assumed
    return rates[codes], assumed[codes]


def _number(value: Any) -> Any:
    if value is None or isinstance(value, Bad):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return None if str(value).strip().lower() in {"n/a", "none", "unknown"} else str(value)


def _hours(value: Any) -> Any:
    if value is None or isinstance(value, Bad):
        return value
    try:
        found = coerce(_HOURS, value)
    except InputError:
        return str(value)
    return None if found is None else float(found)  # type: ignore[arg-type]


def _problem(parts: list[Any]) -> str | None:
    for part in parts:
        if isinstance(part, Hardware) and part.problem:
            return part.problem
        if isinstance(part, Bad):
            return part.problem.message
        if isinstance(part, str):
            return f"{part!r} is not a number"
    return None


class Now(NamedTuple):
    """Money of the plan that is recommended, for one distinct job."""

    basis: str | None
    usd_per_hour: float | None
    usd_per_run: float | None


#: Facts that say how long a run is by its work, whatever hours it took.
_WORK = ("train_tokens_b", "train_steps", "train_samples", "requests_total")


def now_of(facts: Mapping[str, Value], answer: Mapping[str, Any]) -> Now:
    """How the money of the recommended plan follows from an answer.

    ``run``: its hours are computed from the work that is stated. ``scaled``: they follow from the hours that it would
    have taken on as few GPUs as hold it, as if the speeds of all that it had added up; so it is rather too much.
    ``service``: it serves for the hours that it ran. ``same_gpu_hours``: how fast it is there is not known, and a GPU
    is taken to do as much as one did then.
    """
    price = answer["price"]
    if price is None:
        return Now(None, None, None)
    per_hour, per_run = price["usd_per_hour"], price["usd_per_run"]
    if per_run is not None and "hours" in answer["speed"]:
        return Now("run" if any(name in facts for name in _WORK) else "scaled", per_hour, per_run)
    serves = profile_of(str(facts["task"])).serves
    return Now("service" if serves else "same_gpu_hours", per_hour, None)


def money_now(
    basis: Coded, gpus: Numbers, usd_per_hour: Numbers, usd_per_run: Numbers, replica_gb: Numbers, then: Then
) -> Numbers:
    """What the recommended plans cost for the same work; NaN where it is not known.

    Args:
        basis: of each row; see ``now_of``.
        gpus: of each plan.
        usd_per_hour: of each plan.
        usd_per_run: of each plan, where its hours are computed.
        replica_gb: the least memory that one copy of the job takes.
        then: what the jobs ran on.
    """
    usable = then.hardware.mapped(lambda hardware: hardware.usable_gb).numbers()
    fewest = np.fmax(1.0, np.ceil(replica_gb / usable))
    ways: dict[str | None, Numbers] = {
        "run": usd_per_run,
        "scaled": usd_per_run * then.gpus / fewest,
        "service": usd_per_hour * then.hours,
        "same_gpu_hours": usd_per_hour / gpus * then.gpus * then.hours,
    }
    found = np.full(len(gpus), np.nan)
    for place, value in enumerate(basis.values):
        if value in ways:
            found = np.where(basis.codes == place, ways[value], found)
    return found
