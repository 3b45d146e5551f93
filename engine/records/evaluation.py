"""Evaluating the expressions of a record, which anyone may have written: arithmetic over names, and nothing else."""

from __future__ import annotations

import ast
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from whichgpu.engine.core import OPERATIONS


#: Figures are recorded at six significant digits, so that what is made of several of them is a little off.
TOLERANCE = 1e-4
#: How far from 0 the logarithm that a search brought to 0 may be, with figures so rounded.
SOLVED = 1e-3
_INFIX: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_CALLED = frozenset(OPERATIONS) - set(_INFIX.values()) - {"neg"}
#: What an expression says over a list that its plan, or the record, states.
_OF_LISTS: dict[str, Callable[[Sequence[Any]], float]] = {
    "count": len,
    "least": min,
    "median": statistics.median,
    "sum": math.fsum,
}
_FAILS = (ArithmeticError, KeyError, ValueError, SyntaxError, TypeError, RecursionError, MemoryError, IndexError)


class Names(Struct):
    """What the names in the expressions of one plan stand for.

    ``texts`` are expressions by number; ``parts`` name some of them. ``lists`` are what ``sum``, ``least``, ``median``
    and ``count`` run over.
    """

    numbers: Mapping[str, float]
    lists: Mapping[str, Sequence[Any]] = {}
    texts: Sequence[str] = ()
    parts: Mapping[str, int] = {}
    known: dict[int, float] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)

    def value(self, expression: str) -> float | None:
        """What an expression gives; None where a name is not known, or it is no arithmetic."""
        try:
            return self._of(_parsed(expression))
        except _FAILS:
            return None

    def text(self, number: int) -> float | None:
        """What a numbered text gives; None likewise."""
        try:
            return self._numbered(number)
        except _FAILS:
            return None

    def _numbered(self, number: int) -> float:
        if number not in self.known:
            if number in self.waiting:
                raise ValueError(f"text {number} is made of itself")
            self.waiting.add(number)
            self.known[number] = self._of(_parsed(self.texts[number]))
            self.waiting.discard(number)
        return self.known[number]

    def _of(self, node: ast.AST) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                value = float(number)
            case ast.Name() | ast.Attribute():
                value = self._named(_dotted(node))
            case ast.BinOp(left=left, op=op, right=right):
                value = OPERATIONS[_INFIX[type(op)]](self._of(left), self._of(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = -self._of(operand)
            case ast.Call(func=ast.Name(id=word), args=[inner]) if word in _OF_LISTS:
                value = _OF_LISTS[word](self.lists[_dotted(inner)])
            case ast.Call(func=ast.Name(id=word), args=args) if word in _CALLED:
                value = OPERATIONS[word](*(self._of(each) for each in args))
            case _:
                raise ValueError(f"{ast.dump(node)} is no arithmetic")
        return float(value)

    def _named(self, name: str) -> float:
        if name[:1] == "_" and name[1:].isdigit():
            return self._numbered(int(name[1:]))
        return self._numbered(self.parts[name]) if name in self.parts else self.numbers[name]


def agree(one: float, other: float) -> bool:
    """Equal, as figures are recorded."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


@lru_cache(maxsize=20_000)
def _parsed(expression: str) -> ast.AST:
    return ast.parse(expression, mode="eval").body


def _dotted(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=head, attr=tail):
            return f"{_dotted(head)}.{tail}"
        case _:
            raise ValueError(f"{ast.dump(node)} is no name")
