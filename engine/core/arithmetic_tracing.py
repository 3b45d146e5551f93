"""When arithmetic is remembered: constants and parts of formulas get names, and nothing is kept of what is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core.traced import Traced, plain_number


_P = ParamSpec("_P")
_T = TypeVar("_T")
_R_co = TypeVar("_R_co", covariant=True)

_tracing: ContextVar[bool] = ContextVar("tracing", default=False)


@contextmanager
def tracing() -> Iterator[None]:
    """Remember arithmetic: constants are ``Traced``, and nothing is kept of what is computed."""
    before = _tracing.set(True)
    try:
        yield
    finally:
        _tracing.reset(before)


class Remembered(Protocol[_P, _R_co]):
    """A function whose values are kept until ``cache_clear`` is called, as ``functools.cache`` has it."""

    cache_clear: Callable[[], None]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co:
        """What the function gives."""


def remembered(function: Callable[_P, _T]) -> Remembered[_P, _T]:
    """``functools.cache``, but nothing is kept or recalled while arithmetic is traced."""
    kept = cache(function)

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return function(*args, **kwargs) if _tracing.get() else kept(*args, **kwargs)  # type: ignore[arg-type]

    found = cast("Remembered[_P, _T]", call)
    found.cache_clear = kept.cache_clear
    return found


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
        source: by which source it is, where it does not say so itself.
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


def as_inputs(value: _T, naming: Callable[[_T], _T]) -> _T:
    """What a part of the program made of inputs, each number of it an input by itself where arithmetic is traced.

    Args:
        value: what it made.
        naming: gives the numbers in it their names.
    """
    return naming(value) if _tracing.get() else value


def given(value: _T, name: str) -> _T:
    """A structure of columns as inputs, where arithmetic is traced: what they were made of is recorded elsewhere."""
    if not _tracing.get():
        return value
    fields: Any = value
    return fields._replace(**{f: Traced(getattr(fields, f), f"{name}.{f}") for f in fields._fields})  # type: ignore[no-any-return]


def solved(value: _T, zero: Callable[[Any], Any], ends: tuple[Any, Any], name: str) -> _T:
    """A value that was searched for: in traced arithmetic an input of which an expression shows that it is right.

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
