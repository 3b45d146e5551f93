"""JSON Schemas of the knowledge files, for editors. Made from the records that the loader checks with."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from engine.knowledge.model import CostItem
from engine.knowledge.model import Gpu
from engine.knowledge.model import MemoryReserve
from engine.knowledge.model import ModelSpec
from engine.knowledge.model import SourceRecord


_RECORDS: dict[str, type[Gpu | ModelSpec | SourceRecord | CostItem | MemoryReserve]] = {
    "gpus": Gpu,
    "models": ModelSpec,
    "sources": SourceRecord,
    "costs": CostItem,
    "reserves": MemoryReserve,
}


def knowledge_file_schemas() -> dict[str, dict[str, Any]]:
    """A JSON Schema (draft 2020-12) for every kind of file, by the key that its records stand under."""
    return {key: _file_schema(key, TypeAdapter(list[record])) for key, record in _RECORDS.items()}  # type: ignore[valid-type]


def _file_schema(key: str, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    records = adapter.json_schema()
    definitions = records.pop("$defs", {})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"whichgpu {key}",
        "type": "object",
        "properties": {key: records},
        "required": [key],
        "additionalProperties": False,
        "$defs": definitions,
    }
