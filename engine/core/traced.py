"""Numbers that remember the arithmetic that made them.

The formulas of this program run over numbers and columns of numpy. Given ``Traced`` ones they run just the same, for
all rows at once, and what comes out tells how it was made: so that a record states the formula that was computed, never
a copy of it. Of two branches the one that a row took is told.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace


_P = ParamSpec("_P")
_T = TypeVar("_T")

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
_tracing: ContextVar[bool] = ContextVar("tracing", default=False)


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
        """The same, to be changed."""
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
    plain = [plain_number(operand) for operand in operands]
    if all(isinstance(each, int | float) for each in plain):
        try:
            value: Any = OPERATIONS[operation](*plain)
        except (ArithmeticError, ValueError):
            value = math.nan
        if operation in {"max", "min"} and any(each != each for each in plain):  # noqa: PLR0124 - NaN.
            value = math.nan
    else:
        with np.errstate(all="ignore"):
            value = _OF_COLUMNS[operation](*plain)
    if not any(isinstance(operand, Traced) for operand in operands):
        return value
    return Traced(value, None, operation, operands)


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
    return {
        name: Traced(value, name) if isinstance(value, int | float) and not isinstance(value, bool) else value
        for name, value in facts.items()
    }


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


@contextmanager
def tracing() -> Iterator[None]:
    """Remember arithmetic: constants are ``Traced``, and nothing is kept of what is computed."""
    before = _tracing.set(True)
    try:
        yield
    finally:
        _tracing.reset(before)


def remembered(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """``functools.cache``, but nothing is kept or recalled while arithmetic is traced."""
    kept = cache(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return function(*args, **kwargs) if _tracing.get() else kept(*args, **kwargs)  # type: ignore[arg-type]

    return call


def traceable(name: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Give each constant that a function finds a name, where arithmetic is traced.

    Args:
        name: of the file, which begins the name of each constant.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            found = function(*args, **kwargs)
            return _all_named(_ById(found), name) if _tracing.get() else found

        return call

    return decorate


@lru_cache(maxsize=16)
def _all_named(found: _ById, name: str) -> Any:
    return marked(found.held, name)


class _ById:
    """Anything, equal to itself alone."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def marked(value: Any, name: str, source: str = "") -> Any:
    """A value with each number in it named by its place.

    Args:
        value: numbers in structures, mappings and tuples.
        name: of the whole.
        source: on whose word it is, where it does not say so itself.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return Traced(value, name, source=source)
    if isinstance(value, Mapping):
        return {key: marked(item, f"{name}.{_word(key)}", source) for key, item in value.items()}
    if isinstance(value, Struct):
        source = str(getattr(value, "source", "") or getattr(value, "because", "") or source)
        names = {field: name if field == "value" else f"{name}.{field}" for field in value.__struct_fields__}
        return replace(value, **{field: marked(getattr(value, field), own, source) for field, own in names.items()})
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(marked(item, f"{name}._{place}", source) for place, item in enumerate(value))
    return value


def _word(key: object) -> str:
    found = "".join(character if character.isalnum() else "_" for character in str(key))
    return f"_{found}" if found[:1].isdigit() else found


def named(value: _T, name: str) -> _T:
    """A part of a formula under a name of its own, where arithmetic is traced; the fields of a structure each."""
    return _named(value, name) if _tracing.get() else value


def _named(value: Any, name: str) -> Any:
    if isinstance(value, Traced):
        return value if value.name or _one_gpu(value) else Traced(value.value, name, "=", (value,))
    fields = getattr(value, "_fields", None)
    if fields is None:
        return value
    return value._replace(**{field: _named(getattr(value, field), f"{name}.{field}") for field in fields})


def _one_gpu(value: Traced) -> bool:
    """Whether a column holds a figure of GPUs as they state it."""
    return value.operation == "take" and all(
        isinstance(each, Traced) and (each.name or "").startswith("gpu.") for each in value.operands
    )


def given(value: _T, name: str) -> _T:
    """A structure of columns as inputs, where arithmetic is traced: what they were made of is told elsewhere."""
    if not _tracing.get():
        return value
    fields: Any = value
    return fields._replace(**{f: Traced(getattr(fields, f), f"{name}.{f}") for f in fields._fields})  # type: ignore[no-any-return]


def solved(value: _T, zero: Callable[[Any], Any], ends: tuple[Any, Any], name: str) -> _T:
    """A value that was searched for: in traced arithmetic an input of which an expression tells that it is right.

    Args:
        value: what was found, each of a column.
        zero: what is 0 there, unless it lies at an end.
        ends: between which it was searched.
        name: of what was found.
    """
    if not isinstance(value, Traced):
        return value
    found = Traced(value.value, name, "solved")
    left = zero(found)
    off = [np.abs(value.value - plain_number(end)) for end in ends]
    at_end = np.where(off[0] < off[1], 1, 2)
    rest = np.abs(plain_number(left))
    beyond = (np.minimum(*off) < _AT_END) & (rest > _AT_END)
    found.operands, found.places = (left, *ends), np.where(beyond, at_end, 0)
    return found  # type: ignore[return-value]


#: A search ends nearer to where its function is 0 than this, or at an end of its range.
_AT_END = 1e-5
