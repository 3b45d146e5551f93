"""An answer of which only the parts are made that are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from whichgpu.engine.advisor.answer.outline import Outline
from whichgpu.engine.advisor.answer.parts import AnswerParts
from whichgpu.engine.core import json_value


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import trace_types


#: The parts by the names of their keys.
_PARTS = tuple(
    name
    for name in vars(AnswerParts)
    if not name.startswith("_") and name not in ("several", "outline", "rejecting", "rules_named")
)


class LazyAnswer(Mapping[str, Any]):
    """An answer of which only the parts are made that are read, each as the JSON value that it is in the whole.

    Args:
        parts: of the answer.
        further: what else stands in it, by key; None where there is nothing of it.
    """

    def __init__(self, parts: AnswerParts, further: Mapping[str, Callable[[], Any]] | None = None) -> None:
        self._parts = parts
        self._makes: dict[str, Callable[[], Any]] = {
            **{name: partial(getattr, parts, name) for name in _PARTS},
            **{name: partial(parts.head.get, name) for name in parts.head},
            **(further or {}),
        }
        self._made: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        """A part. Raises KeyError where there is none of that name."""
        if key not in self._made:
            self._made[key] = json_value(self._makes[key]())
        return self._made[key]

    def outline(self) -> Outline:
        """The recommendation and the alternatives, best first, by card and number alone."""
        return self._parts.outline()

    def rejecting(self) -> set[str]:
        """The ids of the rules that reject some plan."""
        return self._parts.rejecting()

    def rules_named(self, names: Collection[str]) -> list[trace_types.RuleVerdict]:
        """What became of some rules, and of all rows of some tables."""
        return self._parts.rules_named(names)

    def __iter__(self) -> Iterator[str]:
        """The names of the parts."""
        return iter(self._makes)

    def __len__(self) -> int:
        """How many parts there are."""
        return len(self._makes)
