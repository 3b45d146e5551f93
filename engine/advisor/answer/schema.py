"""The JSON Schemas (draft 2020-12) of what is handed out, and the page of its keys, made from its types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from whichgpu.engine.advisor.answer.answer_types import SHAPES
from whichgpu.engine.advisor.answer.keys import DECISION_FORMAT


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
        return {**found, **(_ANSWERED if "no_answer" in found["properties"] else {})}

    def tagged_union_schema(self, schema: Any) -> Schema:
        found = super().tagged_union_schema(schema)
        found.pop("discriminator", None)
        return found


def decision_schema() -> Schema:
    """The schema of ``whichgpu.decision/1``, with all other shapes under ``$defs``."""
    types = tuple(SHAPES.values())
    definitions = _definitions(types)
    head = {"$schema": DIALECT, "title": DECISION_FORMAT, "description": definitions["Decision"]["description"]}
    return {**head, "$ref": "#/$defs/Decision", "$defs": definitions}


def schema_of(shape: str, *, closed: bool = False) -> Schema:
    """The schema of one shape: ``decision``, ``decision_line``, ``record``, ``size_answer`` or ``refused_line``.

    Args:
        shape: its name.
        closed: refuse keys that are not listed, as tests of this program do. Readers must ignore them.

    Raises:
        KeyError: There is no such shape.
    """
    return type_schema(SHAPES[shape], closed=closed)


def type_schema(answer: Any, *, closed: bool = False) -> Schema:
    """The schema of a ``TypedDict`` whose keys are annotated with what they hold."""
    definitions = _definitions((answer,))
    if closed:
        for definition in definitions.values():
            if "properties" in definition:
                definition["additionalProperties"] = False
    return {"$schema": DIALECT, "$ref": f"#/$defs/{answer.__name__}", "$defs": definitions}


def schema_text() -> str:
    """The committed form, ``docs/decision.schema.json``."""
    return json.dumps(decision_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _definitions(types: tuple[Any, ...]) -> dict[str, Schema]:
    inputs: Any = [(answer.__name__, "validation", TypeAdapter(answer)) for answer in types]
    _, found = TypeAdapter.json_schemas(inputs, schema_generator=_Untitled)
    definitions: dict[str, Schema] = found["$defs"]
    return definitions


def keys_page(*more: Any) -> str:
    """Every key with what it holds, as the page ``docs/answer.md``; ``more`` are types of other rooms."""
    types = (*SHAPES.values(), *more)
    definitions = _definitions(types)
    shapes = [answer.__name__ for answer in types]
    order = [*shapes, *sorted(definitions.keys() - set(shapes))]
    parts = [_HEAD]
    parts += [_section(name, definitions) for name in order if "properties" in definitions[name]]
    return "\n".join(parts)


_HEAD = """# The keys of an answer

<!-- Made by: whichgpu schema --page > docs/answer.md -->

Every key that the program hands out, by the part that it stands in, as in
[`decision.schema.json`](decision.schema.json). Keys are stable within a format number. More may be added, so a reader
ignores those that it does not know. Keys in *italics* are not always there.
"""


_TYPE_WORDS = {"string": "text", "boolean": "yes or no", "integer": "whole number", "None": "anything"}


def _section(name: str, definitions: Mapping[str, Schema]) -> str:
    definition = definitions[name]
    required = set(definition.get("required", ()))
    lines = [f"## {name}", "", definition["description"], "", "| Key | Type | What it holds |", "|---|---|---|"]
    for key, schema in definition["properties"].items():
        shown = f"`{key}`" if key in required else f"*`{key}`*"
        said = schema.get("description") or definitions[_name_in(schema)]["description"]
        lines.append(f"| {shown} | {_type_words(schema)} | {said} |")
    return "\n".join([*lines, ""])


def _name_in(schema: Mapping[str, Any]) -> str:
    """The definition that a schema refers to."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _type_words(schema: Mapping[str, Any]) -> str:
    """The type of a key: ``number``, ``list of [Offer](#offer)``, ``text or null``."""
    name = _name_in(schema)
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    words = [_type_words(option) for option in options] or [f"`{word}`" for word in schema.get("enum", ())]
    kind = schema.get("type")
    if name:
        said = "value" if name == "FactValue" else f"[{name}](#{name.lower()})"
    elif words:
        said = " or ".join(dict.fromkeys(words))
    elif "const" in schema:
        said = f"`{schema['const']}`"
    elif kind == "array":
        said = f"list of {_type_words(schema['items'])}"
    elif kind == "object":
        said = f"by name: {_type_words(schema['additionalProperties'])}"
    else:
        said = _TYPE_WORDS.get(str(kind), str(kind))
    return said
