"""The words and bounds that the types of an answer are annotated with.

The types are ``TypedDict``; their annotations stay text until a schema or a check is made of them, so that deciding
costs nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct
from pydantic import Field
from typing_extensions import TypeAliasType


def doc(text: str) -> Any:
    """What a key holds, in words: the JSON Schema and ``docs/answer.md`` have it from here."""
    return Field(description=text)


class OneOf(Struct, frozen=True):
    """A word out of data, such as the name of an objective: read when a schema is made."""

    words: Callable[[], Collection[str]]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """A choice among the words."""
        from pydantic_core import core_schema  # noqa: PLC0415 - only where a schema is made.

        return core_schema.literal_schema(sorted(self.words()))


Word = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}")]
Scalar = bool | Number | str
#: The value of a fact.
FactValue = TypeAliasType("FactValue", Scalar | Sequence[Scalar])
#: The value of a fact; null where it is unknown.
MaybeValue = FactValue | None
#: Facts by name.
FactValues = Mapping[str, MaybeValue]
