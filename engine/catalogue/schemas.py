"""JSON Schemas of the knowledge files, for editors. Made from the records that the loader checks with."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.catalogue.folder import PARTS
from whichgpu.engine.core import FrozenModel, model_of


def knowledge_file_schemas() -> dict[str, dict[str, Any]]:
    """A JSON Schema (draft 2020-12) for every kind of file, by the key that its records stand under."""
    return {part.key: _file_schema(part.key, part.record) for part in PARTS}


def entry_schemas() -> dict[str, dict[str, Any]]:
    """A JSON Schema for the files whose content is taken as they state it, by the name of the file."""
    names = {"type": "array", "items": {"type": "string"}}
    text = {"type": "string"}
    number = {"type": "number"}
    position = _closed({"source": text, "says": text}, "source", "says")
    because = {"because": {**text, "description": "in a layer: why the entry below is changed"}}
    disagreement = {
        "title": text,
        "positions": {"type": "array", "items": position},
        "resolution": text,
        "why": text,
        "heuristics": names,
        **because,
    }
    figure = {
        "value": {"anyOf": [number, text, {"type": "array", "items": number, "minItems": 2, "maxItems": 2}]},
        "facts": names,
        "unit": {"type": ["string", "null"]},
        "meaning": text,
        "sources": names,
        "encodes": names,
        **because,
    }
    line = {
        "vendor": text,
        "newest_first": {"type": "array", "items": names},
        "sources": names,
    }
    heuristic = {
        "type": "object",
        "required": ["id", "guide", "section", "kind", "condition", "conclusion", "paraphrase", "confidence"],
    }
    return {
        "disagreements": _file("disagreements", {"type": "object", "additionalProperties": _closed(disagreement)}),
        "figures": _file("figures", {"type": "object", "additionalProperties": _closed(figure)}),
        "generations": _file("lines", {"type": "array", "items": _closed(line, *line)}),
        "heuristics": _file("heuristics", {"type": "array", "items": heuristic}),
    }


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _file(key: str, content: dict[str, Any]) -> dict[str, Any]:
    """The schema of a file that holds ``content`` under its one key."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"whichgpu {key}",
        **_closed({key: content}, key),
    }


def _file_schema(key: str, record: type[FrozenModel]) -> dict[str, Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415  # Loading the catalogue imports this module, and writes no schema.

    listed: Any = list[model_of(record)]  # type: ignore[misc]
    records = TypeAdapter(listed).json_schema()
    definitions = records.pop("$defs", {})
    whole = definitions[records["items"]["$ref"].rpartition("/")[2]]
    named = "vendor" if key == "reserves" else "id"
    reason = {"because": {"type": "string", "description": "in a layer: why the record below is changed"}}
    changed = {**whole, "properties": {**whole["properties"], **reason}, "required": [named, "because"]}
    records["items"] = {"if": {"required": ["because"]}, "then": changed, "else": records["items"]}
    return {**_file(key, records), "$defs": definitions}
