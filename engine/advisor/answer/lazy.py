"""An answer of which only the parts are made that are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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
    """An answer of which only the parts are made that are read, each as the JSON value that it is in the whole."""

    def __init__(self, parts: AnswerParts) -> None:
        self._parts = parts
        self._made: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        """A part. Raises KeyError where there is none of that name."""
        if key not in _PARTS:
            raise KeyError(key)
        if key not in self._made:
            self._made[key] = json_value(getattr(self._parts, key))
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
        return iter(_PARTS)

    def __len__(self) -> int:
        """How many parts there are."""
        return len(_PARTS)
