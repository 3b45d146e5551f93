"""The formulas behind a record's figures as texts: what was computed, written down where it was computed.

A text is arithmetic over names. A name with a number (``_12``) is another text; any other is a part of the plan's
formulas, an input of the plan, a figure of the trace, or a constant. Each text stands once, whoever uses it.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from whichgpu.engine.advisor import DecisionFormulas
from whichgpu.engine.core import Traced, plain_number
from whichgpu.engine.records.evaluation import SOLVED, agree
from whichgpu.engine.records.formula_graph import Element, FormulaGraph


#: What a number is counted in, by the last word of its name.
_UNITS = {
    "b": "billions",
    "bytes": "bytes",
    "cards": "cards",
    "day": "days",
    "factor": "times",
    "gb": "GB",
    "gbs": "GB/s",
    "gib": "GiB",
    "gpus": "GPUs",
    "hour": "an hour",
    "hours": "hours",
    "kwh": "kWh",
    "ms": "ms",
    "months": "months",
    "month": "a month",
    "px": "pixels",
    "share": "share",
    "tbs": "TB/s",
    "tflops": "TFLOPS",
    "tokens": "tokens",
    "tops": "TOPS",
    "us": "microseconds",
    "usd": "US dollars",
    "w": "W",
    "year": "a year",
    "years": "years",
}
_INFIX = {"+", "-", "*", "/", "//", "%", "**"}


class FormulaTexts:
    """Collects texts and the constants that they name."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.constants: dict[str, dict[str, Any]] = {}
        self.graph = FormulaGraph()
        self._numbers: dict[str, int] = {}

    def of_plan(
        self, figures: Mapping[str, Traced], stated: Mapping[str, float], shared: Mapping[str, float]
    ) -> dict[str, Any]:
        """The formulas of one plan.

        Args:
            figures: by name.
            stated: the numbers that the plan's trace states.
            shared: those that are stated of the workload.

        Returns:
            ``figures`` and ``parts`` by name, each with the number of its text; ``inputs`` that stand nowhere else;
            ``zeros``: of an input that was searched for, the text that is 0 there.
        """
        plan = _PlanTexts(self, stated, {**shared, **stated})
        numbered = {name: self.number(plan.text(value)) for name, value in figures.items()}
        return {"figures": numbered, "parts": plan.parts, "inputs": plan.inputs, "zeros": plan.zeros}

    def number(self, text: str) -> int:
        """The number of a text, kept from now on."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]

    def constant(self, name: str, value: float, source: str, taken: Mapping[str, float]) -> str:
        """The name of a constant, which is kept with its unit and source; none that stands for another number."""
        for free in _numbered(name):
            if not agree(taken.get(free, value), value):
                continue
            known = self.constants.get(free)
            if known is None:
                unit = _UNITS.get(name.rpartition("_")[2].rpartition(".")[2], "")
                self.constants[free] = {"name": free, "value": value, "unit": unit, "source": source}
            if known is None or known["value"] == value:
                return free
        raise AssertionError


class _PlanTexts:
    """Writes the texts of one plan."""

    def __init__(self, texts: FormulaTexts, stated: Mapping[str, float], taken: Mapping[str, float]) -> None:
        self._texts = texts
        self._taken = taken
        self._graph = texts.graph
        self._stated = stated
        self._written: dict[Element, str] = {}
        self._uses: dict[Element, int] = {}
        self.parts: dict[str, int] = {}
        self.inputs: dict[str, float] = {}
        self.zeros: dict[str, int] = {}

    def text(self, whole: Traced) -> str:
        """What a figure is called, or how it is made."""
        first = self._graph.element(whole, 0)
        elements = self._children_first(first)
        searched = [element for element in elements if self._graph.node(element).operation == "solved"]
        for element in searched:  # What is 0 there names it in turn.
            value = np.ravel(self._graph.node(element).value)[element[1]]
            self._written[element] = self._input("solved", value.item())
        for element, operands in elements.items():
            if element not in self._written:
                self._written[element] = self._write(element, operands)
        for element in searched:
            left = np.ravel(plain_number(self._graph.node(element).operands[0]))
            if abs(left[element[1] if len(left) > 1 else 0]) <= SOLVED:
                self.zeros[self._written[element]] = self._texts.number(self._text_of(elements[element][0]))
        return self._text_of(first)

    def _children_first(self, whole: Element) -> dict[tuple[int, int], list[Element]]:
        """What a figure was made of and is not written yet, each after all that it was made of itself."""
        found: dict[tuple[int, int], list[Element]] = {}
        waiting: list[tuple[Element, list[Element] | None]] = [(whole, None)]
        opened, written, uses = set[Element](), self._written, self._uses
        while waiting:
            element, operands = waiting.pop()
            if isinstance(element, str):
                continue
            if operands is not None:
                found[element] = operands
            elif element not in opened and element not in written:
                opened.add(element)
                operands = self._graph.operands(element)
                waiting.append((element, operands))
                for operand in operands:
                    uses[operand] = uses.get(operand, 0) + 1
                    waiting.append((operand, None))
        return found

    def _text_of(self, element: Element) -> str:
        return element if isinstance(element, str) else self._written[element]

    def _write(self, element: tuple[int, int], operands: list[Element]) -> str:
        node = self._graph.node(element)
        if not node.operation:
            return self._leaf(node, element[1])
        found = _simplified(node.operation, [self._text_of(each) for each in operands])
        if node.operation == "=":
            plain = _ATOM.fullmatch(found) and found not in self._texts.constants
            return found if plain else self._part(str(node.name), self._texts.number(found))
        shared = len(found) > _LONG and self._uses.get(element, 0) > 1
        return f"_{self._texts.number(found)}" if shared else found

    def _part(self, name: str, number: int) -> str:
        """The name of a part; a further one of the same name gets a number."""
        return next(free for free in _numbered(name) if self.parts.setdefault(free, number) == number)

    def _input(self, name: str, value: float) -> str:
        return next(free for free in _numbered(name) if self.inputs.setdefault(free, value) == value)

    def _leaf(self, leaf: Traced, place: int) -> str:
        name = str(leaf.name)
        value = np.ravel(leaf.value)[place].item() if np.ndim(leaf.value) else plain_number(leaf)
        if leaf.source and not name.startswith("gpu."):
            return self._texts.constant(name, value, leaf.source, self._taken)
        return name if self._stated.get(name) == value else self._input(name, value)


#: Longer expressions that are used more than once are written once.
_LONG = 8
_ATOM = re.compile(r"[A-Za-z_][\w.]*|[\d.e+-]+")


def _simplified(operation: str, operands: list[str]) -> str:
    """An operation over texts. What changes nothing is not written."""
    match operation, operands:
        case ("*" | "/" | "**", [kept, "1"]) | ("+" | "-", [kept, "0"]) | ("*", ["1", kept]) | ("+", ["0", kept]):
            found = kept
        case ("max" | "min", [kept, "inf" | "-inf"]) | ("max" | "min", ["inf" | "-inf", kept]) | ("=", [kept]):
            found = kept
        case ("*", ["0", _] | [_, "0"]) | ("/", ["0", _] | [_, "inf"]):
            found = "0"
        case ("*", ["inf", _] | [_, "inf"]):
            found = "inf"
        case "neg", [kept]:
            found = f"(-{kept})"
        case _, [first, last] if operation in _INFIX:
            found = f"({first} {operation} {last})"
        case _:
            found = f"{operation}({', '.join(operands)})"
    return found


def _numbered(name: str) -> Iterator[str]:
    """A name, and others like it."""
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))


def stated_formulas(formulas: DecisionFormulas, stated: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The formulas of a decision's figures, but of those that come out otherwise than they are stated.

    Args:
        formulas: of its plans and its workload.
        stated: the numbers of the trace by plan, and by ``workload``.

    Returns:
        ``texts`` and ``constants``; ``figures`` and ``parts`` that most plans have, and what ``plans`` have otherwise.
    """
    texts, plans = FormulaTexts(), {}
    for scope, figures in (*formulas.plans.items(), ("workload", formulas.workload)):
        numbers = stated.get(scope, {})
        agreeing = {
            name: figure
            for name, figure in figures.items()
            if name in numbers and agree(plain_number(figure), numbers[name])
        }
        if agreeing:
            plans[scope] = texts.of_plan(agreeing, numbers, stated.get("workload", {}))
    usual = {kind: _most_common([plan[kind] for plan in plans.values()]) for kind in ("figures", "parts")}
    for scope, plan in plans.items():
        own = plan["figures"]
        claimed = own.keys() | (usual["figures"].keys() & stated[scope].keys())
        plan["figures"] = {
            name: own.get(name, NO_FORMULA)
            for name in sorted(claimed)
            if own.get(name, NO_FORMULA) != usual["figures"].get(name)
        }
        plan["parts"] = {name: number for name, number in plan["parts"].items() if number != usual["parts"][name]}
    return {"texts": texts.texts, "constants": list(texts.constants.values()), **usual, "plans": plans}


#: In place of the number of a text, where a figure has another formula than most plans have, and it is not stated.
NO_FORMULA = -1


def figures_of(formulas: Mapping[str, Any], scope: str, stated: Collection[str]) -> dict[str, int]:
    """The figures of one plan that have a formula, each with the number of its text.

    Args:
        formulas: as ``stated_formulas`` gives them.
        scope: the plan's id.
        stated: the figures that the plan states.
    """
    plan = formulas["plans"].get(scope)
    if plan is None:
        return {}
    usual = {name: number for name, number in formulas["figures"].items() if name in stated}
    return {name: number for name, number in {**usual, **plan["figures"]}.items() if number != NO_FORMULA}


def _most_common(each: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """For each name the number that most have."""
    counted: dict[str, Counter[int]] = {}
    for one in each:
        for name, number in one.items():
            counted.setdefault(name, Counter())[number] += 1
    return {name: numbers.most_common(1)[0][0] for name, numbers in counted.items()}
