"""Numbers that remember the arithmetic that made them.

The formulas of this program run over numbers and columns of numpy. Given ``Traced`` ones they run just the same, for
all rows at once, and what comes out knows how it was made: so that a record states the formula that was computed, never
a copy of it. Of two branches the one that a row took is recorded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from whichgpu.engine.core.values import is_number


#: What an operation is called in an expression, and what computes it.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "neg": operator.neg,
    "abs": abs,
    "max": max,
    "min": min,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
_UFUNCS = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.true_divide: "/",
    np.floor_divide: "//",
    np.remainder: "%",
    np.power: "**",
    np.float_power: "**",
    np.negative: "neg",
    np.absolute: "abs",
    np.maximum: "max",
    np.minimum: "min",
    np.exp: "exp",
    np.log: "log",
    np.log2: "log2",
    np.sqrt: "sqrt",
    np.expm1: "expm1",
    np.log1p: "log1p",
    np.floor: "floor",
    np.ceil: "ceil",
    np.rint: "round",
}


class Traced:
    """A number, or a column of numbers, with the operation and the operands that gave it.

    ``operation`` is empty for an input or a constant, which has a name; ``=`` gives a part of a formula a name of its
    own; ``where`` has a column of yes and no and two operands; ``take`` the place of each number in its operands, one
    after the other; ``solved`` was searched for, and its operands are what is 0 there and the ends of the search. All
    else stands in ``OPERATIONS``. An operand is Traced or plain.
    """

    __slots__ = ("name", "operands", "operation", "places", "source", "value")

    def __init__(
        self,
        value: Any,
        name: str | None = None,
        operation: str = "",
        operands: tuple[Any, ...] = (),
        *,
        source: str = "",
        places: Any = None,
    ) -> None:
        self.value = value
        self.name = name
        self.operation = operation
        self.operands = operands
        self.source = source
        self.places = places

    def __repr__(self) -> str:
        return f"Traced({self.value!r}, {self.name or self.operation})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.value, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        word = _UFUNCS.get(ufunc)
        if ufunc is np.divmod:
            return made("//", *inputs), made("%", *inputs)
        if word is None or method != "__call__":
            options.pop("out", None)
            return getattr(ufunc, method)(*map(plain_number, inputs), **options)
        return made(word, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _of_function(function, args, kwargs)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> Any:
        return self.value == plain_number(other)

    def __ne__(self, other: object) -> Any:
        return self.value != plain_number(other)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self.value)))

    def __getitem__(self, rows: Any) -> Traced:
        places = np.arange(np.size(self.value)).reshape(np.shape(self.value))[plain_number(rows)]
        return taken((self,), places)

    def __setitem__(self, rows: Any, values: Any) -> None:
        before = Traced(self.value, self.name, self.operation, self.operands, source=self.source, places=self.places)
        places = np.arange(np.size(self.value)).reshape(np.shape(self.value))
        changed = places[rows]
        values = values if isinstance(values, Traced) else np.asarray(values)
        places[rows] = places.size + np.broadcast_to(
            np.arange(np.size(values)).reshape(np.shape(values)), np.shape(changed)
        )
        after = taken((before, values), places)
        self.value, self.name, self.operation = after.value, None, after.operation
        self.operands, self.places = after.operands, after.places

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value) if digits is None else round(self.value, digits)

    def __floor__(self) -> Any:
        return made("floor", self)

    def __ceil__(self) -> Any:
        return made("ceil", self)

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return np.shape(self.value)

    @property
    def dtype(self) -> Any:
        """As of an array."""
        return np.asarray(self.value).dtype

    def is_integer(self) -> bool:
        """Whether it is whole."""
        return float(self.value).is_integer()

    def astype(self, kind: Any) -> Any:
        """Itself as numbers; other kinds are for plain columns."""
        return self if np.dtype(kind) == np.float64 else np.asarray(self.value).astype(kind)

    def copy(self) -> Traced:
        """A copy whose entries can be set."""
        return Traced(self.value, None, "=", (self,))

    def reshape(self, *shape: Any) -> Traced:
        """As of an array."""
        return taken((self,), np.arange(np.size(self.value)).reshape(*shape))

    def tolist(self) -> list[Any]:
        """Each as a number of its own."""
        return list(self)

    def item(self, row: int = 0) -> Any:
        """One as a number of its own."""
        return self.reshape(-1)[row]


def _operator(operation: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return lambda one, other: made(operation, one, other), lambda one, other: made(operation, other, one)


for _name, _sign in (
    *(("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/")),
    *(("floordiv", "//"), ("mod", "%"), ("pow", "**")),
):
    _forward, _backward = _operator(_sign)
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _backward)
for _name in ("lt", "le", "gt", "ge", "and", "or", "lshift"):
    _compare = getattr(operator, f"{_name}_" if _name in {"and", "or"} else _name)
    setattr(Traced, f"__{_name}__", lambda one, other, of=_compare: of(one.value, plain_number(other)))
for _name in ("neg", "abs"):
    setattr(Traced, f"__{_name}__", lambda one, word=_name: made(word, one))


def plain_number(value: Any) -> Any:
    """The number itself, or the column of numbers."""
    if isinstance(value, tuple | list):
        return type(value)(map(plain_number, value))
    return value.value if isinstance(value, Traced) else value


def made(operation: str, *operands: Any) -> Any:
    """What an operation gives, remembered where an operand is."""
    for operand in operands:
        if isinstance(operand, Traced):
            return Traced(_worked_out(operation, tuple(map(plain_number, operands))), None, operation, operands)
    return _worked_out(operation, operands)


def _worked_out(operation: str, plain: tuple[Any, ...]) -> Any:
    for each in plain:
        if not isinstance(each, (int, float)):
            with np.errstate(all="ignore"):
                return _OF_COLUMNS[operation](*plain)
    if operation in {"max", "min"} and any(each != each for each in plain):  # noqa: PLR0124 - NaN.
        return math.nan
    try:
        return OPERATIONS[operation](*plain)
    except (ArithmeticError, ValueError):
        return math.nan


_OF_COLUMNS = {word: ufunc for ufunc, word in reversed(_UFUNCS.items())}


def as_number(value: Any) -> float:
    """``float``, but of a traced number itself."""
    return value if isinstance(value, Traced) else float(value)  # type: ignore[return-value]


def taken(operands: tuple[Any, ...], places: Any) -> Traced:
    """Some numbers of columns that lie one after the other, by their places there."""
    whole = [np.ravel(plain_number(operand)) for operand in operands]
    value = (whole[0] if len(whole) == 1 else np.concatenate(whole))[places]
    return Traced(value.item() if isinstance(value, np.generic) else value, None, "take", operands, places=places)


def column_of_numbers(values: Iterable[Any]) -> Any:
    """A column of numbers; a traced one where one of them is."""
    found = list(values)
    if not any(isinstance(value, Traced) for value in found):
        return np.array(found)
    return taken(tuple(found), np.arange(len(found)))


def traced_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts whose numbers are inputs of that name."""
    return {name: Traced(value, name) if is_number(value) else value for name, value in facts.items()}


def _of_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if function is np.where:
        condition, one, other = args
        condition = np.asarray(plain_number(condition), np.bool_)
        value = np.where(condition, plain_number(one), plain_number(other))
        return Traced(value, None, "where", (condition, one, other))
    if function is np.clip:
        value, low, high = args
        return made("min", made("max", value, low), high)
    if function is np.nan_to_num:
        return np.where(np.isnan(args[0]), kwargs.get("nan", 0.0), args[0])
    if function is np.concatenate:
        return taken(tuple(args[0]), np.arange(sum(np.size(plain_number(each)) for each in args[0])))
    if function in _MOVING:
        first, *rest = args
        places = np.arange(np.size(first.value)).reshape(np.shape(first.value))
        return taken((first,), function(places, *map(plain_number, rest), **kwargs))
    return function(*map(plain_number, args), **kwargs)


#: Functions that move numbers and compute none.
_MOVING = {np.broadcast_to, np.ravel, np.repeat, np.reshape, np.take, np.tile}
