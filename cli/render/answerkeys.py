"""The page ``docs/answer.md``: every key that is handed out, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.advisor import SHAPES, definitions_of
from whichgpu.engine.authoring import PrintedFinding


Schema = dict[str, Any]


def keys_page() -> str:
    """Every key with what it holds."""
    types = (*SHAPES.values(), PrintedFinding)
    definitions = definitions_of(types)
    shapes = [answer.__name__ for answer in types]
    order = [*shapes, *sorted(definitions.keys() - set(shapes))]
    parts = [_HEAD]
    parts += [_section(name, definitions) for name in order if "properties" in definitions[name]]
    return "\n".join(parts)


_HEAD = """# The keys of an answer

<!-- Made by: whichgpu schema --page > docs/answer.md -->

Every key that the program prints, by the part that it stands in, as in
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
