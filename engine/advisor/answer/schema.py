"""The JSON Schemas (draft 2020-12) of what is handed out, made from its types."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from whichgpu.engine.advisor.answer.answer_types import SHAPES
from whichgpu.engine.advisor.answer.formats import DECISION_FORMAT


Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: A decision recommends something, or says why it does not.
_ANSWERED = {
    "if": {"properties": {"recommendation": {"type": "null"}}},
    "then": {"properties": {"no_answer": {"type": "object"}}},
    "else": {"properties": {"no_answer": {"type": "null"}}},
}


class _Untitled(GenerateJsonSchema):
    """Without titles: the names of keys and of definitions say as much."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def typed_dict_schema(self, schema: Any) -> Schema:
        found = super().typed_dict_schema(schema)
        found.pop("title", None)
        return {**found, **(_ANSWERED if found["properties"].keys() >= {"recommendation", "no_answer"} else {})}

    def tagged_union_schema(self, schema: Any) -> Schema:
        found = super().tagged_union_schema(schema)
        found.pop("discriminator", None)
        return found


def decision_schema() -> Schema:
    """The schema of ``whichgpu.decision/1``, with all other shapes under ``$defs``."""
    types = tuple(SHAPES.values())
    definitions = definitions_of(types)
    head = {"$schema": DIALECT, "title": DECISION_FORMAT, "description": definitions["Decision"]["description"]}
    return {**head, "$ref": "#/$defs/Decision", "$defs": definitions}


def schema_of(shape: str, *, closed: bool = False) -> Schema:
    """The schema of one shape: ``decision``, ``decision_line``, ``record`` or another of ``SHAPES``.

    Args:
        shape: its name.
        closed: refuse keys that are not listed, as tests of this program do. Readers must ignore them.

    Raises:
        KeyError: There is no such shape.
    """
    return type_schema(SHAPES[shape], closed=closed)


def type_schema(answer: Any, *, closed: bool = False) -> Schema:
    """The schema of a ``TypedDict`` whose keys are annotated with what they hold."""
    definitions = definitions_of((answer,))
    if closed:
        for definition in definitions.values():
            if "properties" in definition:
                definition["additionalProperties"] = False
    return {"$schema": DIALECT, "$ref": f"#/$defs/{answer.__name__}", "$defs": definitions}


def schema_text() -> str:
    """The committed form, ``docs/decision.schema.json``."""
    return json.dumps(decision_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def definitions_of(types: tuple[Any, ...]) -> dict[str, Schema]:
    """The ``$defs`` of some types, by the names of the types."""
    inputs: Any = [(answer.__name__, "validation", TypeAdapter(answer)) for answer in types]
    _, found = TypeAdapter.json_schemas(inputs, schema_generator=_Untitled)
    definitions: dict[str, Schema] = found["$defs"]
    return definitions
