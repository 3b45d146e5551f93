"""The rows of a result: which columns there are, and what an answer comes to in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from whichgpu.engine.core import Problem
from whichgpu.engine.fleet.columns import Coded, Codes, Numbers, column_of_numbers
from whichgpu.engine.fleet.money import Then, money_now, now_of


Kind = Literal["whole", "number", "yes", "text", "texts"]

#: Columns of a result, in order. A column that the map carries over (``keep``) follows them as text.
COLUMNS: dict[str, Kind] = {
    "row": "whole",  # of the jobs, from 0
    "id": "text",
    "team": "text",
    "status": "text",  # decided, no_answer, no_gpu (it used none), error
    "task": "text",
    "then_gpu": "text",
    "then_count": "number",  # of GPUs; a share of one where it was shared
    "then_hours": "number",
    "then_usd_per_hour": "number",
    "then_usd": "number",
    "then_price": "text",  # stated, offer (today's price of the same GPUs), assumed (scaled from other machines)
    "then_problem": "text",  # what keeps the cost then from being known
    "now_plan": "text",
    "now_gpu": "text",
    "now_count": "whole",
    "now_nodes": "whole",
    "now_link": "text",
    "now_precision": "text",
    "now_usd_per_hour": "number",
    "now_usd_per_month": "number",
    "now_usd": "number",  # for the same work, by now_basis
    "now_basis": "text",  # run, scaled, service or same_gpu_hours: see money.now_of
    "now_price_assumed": "yes",
    "saving_usd": "number",  # of jobs whose size is known
    "memory_low_gb": "number",  # of the whole plan
    "memory_gb": "number",
    "memory_high_gb": "number",
    "hours": "number",  # of a run, as computed
    "tokens_per_s": "number",
    "samples_per_s": "number",
    "procurement": "text",
    "objective": "text",
    "support": "text",
    "proven": "yes",
    "rules": "texts",  # that decided
    "unverified": "texts",  # limits that could not be checked
    "warnings": "texts",
    "missing": "texts",  # facts without which it cannot be judged
    "error_code": "text",
    "error": "text",
    "error_fact": "text",
    "facts": "text",  # JSON: what was decided
    "answer": "text",  # JSON: what recommend --jsonl --compact prints
}


class Decided(NamedTuple):
    """What became of one distinct job: its facts as JSON with the compact answer as JSON, or a problem."""

    facts: str | None
    answer: str | None
    problem: Problem | None = None


def result_columns(
    first: int, rows: int, codes: Codes, decided: list[Decided], then: Then, carried: Mapping[str, Coded]
) -> dict[str, Coded]:
    """The columns of a part.

    Args:
        first: the number of its first row.
        rows: how many it has.
        codes: for each row the position in ``decided``.
        decided: what became of each distinct job.
        then: what the jobs ran on.
        carried: id, team and what the map keeps.
    """
    no_gpu = then.gpus == 0
    flat = [_flat(each) for each in decided]
    nothing = dict.fromkeys(_OF_ANSWER) | {"status": "no_gpu"}
    of_answer = np.where(no_gpu, len(flat), codes)
    made = {name: _column(of_answer, [*flat, nothing], name) for name in _OF_ANSWER}
    per_run, replica_gb = (made.pop(name).numbers() for name in _UNSHOWN)
    rates = made["now_count"].numbers(), made["now_usd_per_hour"].numbers()
    now = money_now(made["now_basis"], *rates, per_run, replica_gb, then)
    columns: dict[str, Coded] = {
        "row": Coded(np.arange(rows), list(range(first, first + rows))),
        **{name: carried[name].mapped(_text) for name in ("id", "team")},
        "then_gpu": then.hardware.mapped(lambda named: named.gpu),
        "then_count": column_of_numbers(then.gpus),
        "then_hours": _money(then.hours),
        "then_usd_per_hour": _money(then.usd_per_hour),
        "then_usd": _money(then.usd),
        "then_price": then.price,
        "then_problem": then.problem,
        "now_usd": _money(now),
        # What is not sized may need anything: the price of some plan is no saving then.
        "saving_usd": _money(np.where(np.isnan(made["memory_gb"].numbers()), np.nan, then.usd - now)),
        **made,
    }
    kept = {name: column.mapped(_text) for name, column in carried.items() if name not in COLUMNS}
    return {name: columns[name] for name in COLUMNS} | kept


def _flat(decided: Decided) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(_OF_ANSWER)
    row["facts"] = decided.facts
    if decided.problem is not None:
        problem = decided.problem
        return row | {
            "status": "error",
            "error_code": problem.code,
            "error": f"{problem.message}{_meant(problem)}",
            "error_fact": problem.fact,
        }
    answer = msgspec.json.decode(decided.answer or "{}")
    facts = msgspec.json.decode(decided.facts or "{}")
    plan, price, memory, speed = (answer[name] or {} for name in ("plan", "price", "memory_per_gpu_gb", "speed"))
    now, count = now_of(facts, answer), plan.get("count")
    no_answer = answer["no_answer"]
    row |= {
        "status": "decided" if plan else "no_answer",
        "task": facts.get("task"),
        "now_plan": plan.get("id"),
        **{f"now_{name}": plan.get(name) for name in ("gpu", "count", "nodes", "link", "precision")},
        "now_usd_per_hour": now.usd_per_hour,
        "now_usd_per_month": price.get("usd_per_month"),
        "now_basis": now.basis,
        "now_price_assumed": price.get("assumed"),
        "usd_per_run": now.usd_per_run,
        "replica_gb": memory["low"] * count / plan["parallelism"].get("data", 1) if memory else None,
        "missing": no_answer["facts"] if no_answer and no_answer["kind"] == "facts_missing" else _unsized(plan, memory),
        "answer": decided.answer,
    }
    for end, name in (("low", "memory_low_gb"), ("value", "memory_gb"), ("high", "memory_high_gb")):
        row[name] = round(memory[end] * count, 4) if memory else None
    for name in ("hours", "tokens_per_s", "samples_per_s"):
        row[name] = speed[name][0] if name in speed else None
    return row | {name: answer.get(name) for name in _AS_THEY_ARE}


def _unsized(plan: Mapping[str, Any], memory: Mapping[str, Any]) -> list[str]:
    """What would give the size of a job for which no memory is known."""
    return ["model_name"] if plan and not memory else []


_AS_THEY_ARE = ("procurement", "objective", "support", "proven", "rules", "unverified", "warnings")
_OF_ROW = {"row", "id", "team", "now_usd", "saving_usd"}
_UNSHOWN = ("usd_per_run", "replica_gb")
_OF_ANSWER = [*_UNSHOWN, *(name for name in COLUMNS if not (name in _OF_ROW or name.startswith("then_")))]


def _column(codes: Codes, rows: list[dict[str, Any]], name: str) -> Coded:
    made = Coded.of(row[name] for row in rows)
    return Coded(made.codes[codes], made.values)


def _money(numbers: Numbers) -> Coded:
    """Figures at six significant digits, as everywhere in answers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.floor(np.log10(np.abs(numbers)))
        digits = np.where(np.isfinite(size), 10.0 ** (5 - size), 1.0)
    return column_of_numbers(np.round(numbers * digits) / digits)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _meant(problem: Problem) -> str:
    return f"; did you mean {' or '.join(problem.nearest)}?" if problem.nearest else ""
