"""Which numbers a number was made of, element by element of the columns that arithmetic ran over."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import Traced, plain_number


#: One number of a node, by the id of the node and the number's place in its column; or a number in the code as text.
Element = tuple[int, int] | str

#: Floats below this that are whole numbers are written as integers.
_WHOLE = 1e15


class FormulaGraph:
    """The operands of each number; how the columns of a node map to those of its operands is computed once."""

    def __init__(self) -> None:
        self._seen: dict[int, _Column] = {}

    def node(self, element: tuple[int, int]) -> Traced:
        """The node that a number belongs to."""
        return self._seen[element[0]].node

    def element(self, node: Any, place: int) -> Element:
        """A number of a node, past all that only moves numbers or chooses between them."""
        while isinstance(node, Traced):
            column = self._column(node)
            which, at = (-1, 0) if column.moved is None else column.moved[place]
            if which < 0:
                return id(node), place
            node, place = node.operands[which], at
        return _literal(node.ravel()[place] if isinstance(node, np.ndarray) else node)

    def operands(self, element: tuple[int, int]) -> list[Element]:
        """The numbers that one was made of."""
        place = element[1]
        column = self._seen[element[0]]
        used = column.node.operands[:1] if column.node.operation == "solved" else column.node.operands
        return [
            self.element(operand, place if places is None else places[place])
            for operand, places in zip(used, column.places, strict=False)
        ]

    def _column(self, node: Traced) -> _Column:
        known = self._seen.get(id(node))
        if known is None:
            known = self._seen[id(node)] = _column_of(node)
        return known


class _Column(NamedTuple):
    """How the numbers of a node map to those of its operands."""

    node: Traced  # kept, so that its id is not given again
    places: list[list[int] | None]  # of each operand, the place of the number that takes part; None: the same
    moved: list[tuple[int, int]] | None  # for each number the operand that it was taken from, -1 for none, and where


def _column_of(node: Traced) -> _Column:
    shape = np.shape(node.value)
    size = math.prod(shape)
    places = [] if node.operation == "take" else [_spread(operand, shape) for operand in node.operands]
    moved: list[tuple[int, int]] | None = None

    def chosen(which: list[int]) -> list[tuple[int, int]]:
        return [
            (one, -1 if one < 0 else at if (there := places[one]) is None else there[at])
            for at, one in enumerate(which)
        ]

    if node.operation == "where":
        moved = chosen(np.where(np.broadcast_to(node.operands[0], shape), 1, 2).ravel().tolist())
    elif node.operation == "solved":
        ends = np.ravel(node.places).tolist()
        moved = chosen([end or -1 for end in ends]) if any(ends) else None
    elif node.operation == "take":
        sizes = np.cumsum([np.size(plain_number(operand)) for operand in node.operands])
        taken = np.ravel(node.places)
        which = np.searchsorted(sizes, taken, side="right")
        before = np.concatenate([[0], sizes])
        moved = list(zip(which.tolist(), (taken - before[which]).tolist(), strict=True))
    elif node.operation == "=" and not node.name:
        moved = chosen([0] * size)
    return _Column(node, places, moved)


def _spread(operand: Any, shape: tuple[int, ...]) -> list[int] | None:
    """For each number of a column the place of an operand's number that takes part; None where it is the same place."""
    own = np.shape(plain_number(operand))
    if own == shape:
        return None
    places: list[int] = np.broadcast_to(np.arange(math.prod(own)).reshape(own), shape).ravel().tolist()
    return places


def _literal(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return repr(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE else value)
