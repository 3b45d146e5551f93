"""The arithmetic of a record: expressions over the entries of its trace and over named constants, evaluated again.

A record states each expression once, by the figure that it gives; it holds for every plan in whose trace all that it
reads stands, but for plans that it excepts. Figures without an expression end in a formula in words.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct


#: Figures are recorded at six significant digits, so that what is made of several of them is a little off.
TOLERANCE = 1e-4

#: By figure. ``sum(memory)`` adds the parts of a plan's memory, ``sum(points)`` the points that count.
EXPRESSIONS = {
    "plan.per_gpu_gb": "sum(memory)",
    "plan.needed_gb": "plan.per_gpu_gb * plan.count",
    "plan.available_gb": "plan.available_per_gpu_gb * plan.count",
    "plan.headroom_pct": "100 * (plan.available_per_gpu_gb - plan.per_gpu_gb) / plan.available_per_gpu_gb",
    "plan.vram_gb": "gpu.vram_gb * plan.count",
    "speed.tokens_per_s": "speed.requests_per_s * output_tokens",
    "speed.in_flight": "speed.requests_per_s * speed.latency_mean_ms / 1000",
    "speed.latency_ms": "speed.ttft_ms + (output_tokens - 1) * speed.tpot_ms",
    "speed.utilization": "speed.requests_per_s * output_tokens / speed.capacity_tokens_per_s",
    "plan.tokens_per_s": "speed.tokens_per_s",
    "plan.samples_per_s": "speed.samples_per_s",
    "plan.hours": "speed.hours",
    "plan.usd_per_hour": "cost.usd_per_hour",
    "plan.usd_per_month": "plan.usd_per_hour * hours_per_month",
    "plan.usd_per_run": "plan.usd_per_hour * plan.hours",
    "plan.usd_per_1m_tokens": "plan.usd_per_hour / (plan.tokens_per_s * 3600) * 1000000",
    "plan.usd_per_1k_samples": "plan.usd_per_hour / (plan.samples_per_s * 3600) * 1000",
    "purchase_usd": "gpu.buy_usd * plan.count / gpu_share_of_system",
    # What surrounds rented GPUs is added to every price first (knowledge/objectives.yaml).
    "points for cost": "-cost_points * log2((plan.usd_per_hour + around_usd_per_hour)"
    " / (cheapest_usd_per_hour + around_usd_per_hour))",
    "points for speed": "speed_points * log2(plan.speed_vs_fastest)",
    "score": "sum(points)",
}
#: Where each constant stands in the knowledge, and what it is counted in.
_CONSTANTS = {
    "hours_per_month": ("economics.yaml", ("constants", "hours_per_month"), "hours"),
    "cost_points": ("objectives.yaml", ("evidence", "cost_points"), "points for half the cost"),
    "around_usd_per_hour": ("objectives.yaml", ("evidence", "around_usd_per_hour"), "US dollars an hour"),
    "speed_points": ("objectives.yaml", ("evidence", "speed_points"), "points for twice the speed"),
}

_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


class Arithmetic(Struct, frozen=True):
    """What came of evaluating a record's expressions."""

    derived: int  # figures that were evaluated and agree
    in_words: int  # computed figures whose formula is a sentence
    faults: tuple[str, ...] = ()


def arithmetic_of(answer: Mapping[str, Any], knowledge: Mapping[str, Any]) -> dict[str, Any]:
    """The constants and expressions that a record states.

    Args:
        answer: whole.
        knowledge: the files of the record's slice.
    """
    stated: dict[str, Any] = {"constants": list(_constants(knowledge)), "expressions": []}
    known = {entry["name"]: entry["value"] for entry in stated["constants"]}
    plans = list(_plans(answer, known))
    for figure, expression in EXPRESSIONS.items():
        found = [(plan.scope, plan.differs(figure, expression)) for plan in plans]
        excepted = [scope for scope, differs in found if differs]
        # One that fails for most plans is another formula that agrees by chance.
        if sum(differs is False for _, differs in found) > len(excepted):
            stated["expressions"].append({"figure": figure, "expression": expression, "except": excepted})
    return stated


def check_arithmetic(answer: Mapping[str, Any], stated: Mapping[str, Any]) -> Arithmetic:
    """Evaluate the expressions of a record over its own entries."""
    known = {entry["name"]: entry["value"] for entry in stated["constants"]}
    faults, derived, covered = [], 0, set()
    plans = list(_plans(answer, known))
    for entry in stated["expressions"]:
        for plan in plans:
            if plan.scope in entry["except"]:
                continue
            differs = plan.differs(entry["figure"], entry["expression"])
            if differs:
                faults.append(f"{plan.scope}: {entry['figure']} is not {entry['expression']}")
            elif differs is False:
                derived += 1
                covered.add((plan.scope, entry["figure"]))
    return Arithmetic(derived, _in_words(answer, covered), tuple(faults))


def _in_words(answer: Mapping[str, Any], covered: set[tuple[str, str]]) -> int:
    """Computed numbers of the trace that no expression gives."""
    return sum(
        _number(value) and (entry["scope"], name) not in covered
        for entry in answer["trace"]
        if entry["kind"] == "computed"
        for name, value in entry["effects"].items()
    )


class _Scope(Struct, frozen=True):
    """The numbers that a plan's entries state, with those of the workload and the constants under them."""

    scope: str
    numbers: Mapping[str, float]
    memory: tuple[float, ...]
    points: tuple[float, ...]

    def differs(self, figure: str, expression: str) -> bool | None:
        """Whether a figure is not what its expression gives; None where one of the two is not known."""
        value = self.numbers.get(figure)
        if value is None:
            return None
        try:
            given = self._value(ast.parse(expression, mode="eval").body)
        except (ArithmeticError, KeyError, ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return None  # Of a record that anyone may have written.
        return not math.isclose(value, given, rel_tol=TOLERANCE, abs_tol=TOLERANCE)

    def _value(self, node: ast.AST) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                value = float(number)
            case ast.Name(id=name):
                value = self.numbers[name]
            case ast.Attribute(value=ast.Name(id=head), attr=tail):
                value = self.numbers[f"{head}.{tail}"]
            case ast.BinOp(left=left, op=op, right=right):
                value = _OPERATORS[type(op)](self._value(left), self._value(right))
            case ast.UnaryOp(op=op, operand=operand):
                value = _OPERATORS[type(op)](self._value(operand))
            case ast.Call(func=ast.Name(id="log2"), args=[inner]):
                value = math.log2(self._value(inner))
            case ast.Call(func=ast.Name(id="sum"), args=[ast.Name(id="memory" | "points" as parts)]):
                value = self._sum(parts)
            case _:
                raise ValueError(f"{ast.dump(node)} is no arithmetic")
        return value

    def _sum(self, parts: str) -> float:
        added = self.memory if parts == "memory" else self.points
        if not added:
            raise ValueError(f"no {parts} are stated")
        return math.fsum(added)


def _plans(answer: Mapping[str, Any], constants: Mapping[str, float]) -> Iterator[_Scope]:
    shown = [answer["recommendation"], *answer["alternatives"], *(entry["plan"] for entry in answer["candidates"])]
    plans = {plan.get("id") or f"{plan['gpu']}x{plan['count']}": plan for plan in reversed(shown) if plan}
    by_scope: dict[str, list[Any]] = {}
    for entry in answer["trace"]:
        by_scope.setdefault(entry["scope"], []).append(entry)
    chosen = answer["recommendation"] and (list(plans)[-1])
    shared = _numbers(by_scope.get("workload", ()))
    money = shared.keys() & {"purchase_usd"}
    for scope, plan in plans.items():
        entries = by_scope.get(scope, [])
        own = _numbers(entries)
        base = {name: value for name, value in shared.items() if scope == chosen or name not in money}
        numbers = {**constants, **base, **own}
        scored = [entry["effects"] for entry in entries if entry["kind"] == "scored" and not entry["rule"]]
        numbers |= {f"points for {effects['reason']}": effects["points"] for effects in scored}
        if plan["score"] is not None:
            numbers["score"] = plan["score"]
        memory = tuple(value for name, value in own.items() if name.startswith("memory."))
        points = tuple(float(award["points"]) for award in plan["points"] if award.get("counted", True))
        yield _Scope(scope, numbers, memory, points)


def _numbers(entries: Any) -> dict[str, float]:
    """What entries state, and what they read that no entry states."""
    found: dict[str, float] = {}
    for entry in entries:
        for item in entry["matched"]:
            if _number(item["value"]):
                found.setdefault(item["fact"], item["value"])
    for entry in entries:
        if entry["kind"] in ("given", "assumed", "looked_up", "computed", "derived"):
            found |= {name: value for name, value in entry["effects"].items() if _number(value)}
    return found


def _constants(knowledge: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, (file, path, unit) in _CONSTANTS.items():
        holder = value = knowledge.get(file)
        for key in path:
            holder, value = value, value.get(key) if isinstance(value, dict) else None
        if isinstance(value, dict) and value.keys() >= {"value", "source"}:
            yield {"name": name, "value": value["value"], "unit": unit, "source": value["source"]}
        elif _number(value) and isinstance(holder, dict):
            yield {"name": name, "value": value, "unit": unit, "source": ", ".join(holder.get("sources", [file]))}


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
