"""Whether a value has the shape of a decision: the part of JSON Schema that the contract is written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from whichgpu.engine.advisor.answer.schema import decision_schema
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import Problem


Schema = dict[str, Any]

#: Keys that every decision now has, and that records of the same format from before do not.
_ADDED_SINCE = frozenset({"outranked"})

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "null": (type(None),),
}


def _remedy(value: object, name: str) -> str:
    """How a decision would be had, by what was handed in instead."""
    if isinstance(value, dict) and str(value.get("format")).startswith("whichgpu.session/"):
        return f"it is an interview; end it with: whichgpu resume {name} --save RECORD"
    if isinstance(value, dict) and "recommendation" in value and not {"trace", "rules", "rejected"} <= value.keys():
        return "--jsonl leaves the trace out; add --full"
    return "write one with: whichgpu recommend --save"


def check_decision(value: object, name: str) -> dict[str, Any]:
    """The decision itself, once it is known to have every key that the explanations read.

    Raises:
        InputError: with the first place where it departs from the contract.
    """
    schema = _contract()
    for path, complaint in _complaints(value, schema, schema["$defs"], "decision"):
        message = f"{name} is not a whole decision: {path} {complaint}"
        raise InputError(Problem("not-a-decision", message, fix=_remedy(value, name)))
    assert isinstance(value, dict)  # noqa: S101 - the schema says object; this tells the type checker.
    return value


@cache
def _contract() -> Schema:
    """The contract, but for what decisions that were saved before it was added lack."""
    schema = decision_schema()
    whole = schema["$defs"]["decision"]  # type: ignore[index]
    whole["required"] = [key for key in whole["required"] if key not in _ADDED_SINCE]
    return schema


def _complaints(value: object, schema: Schema, shapes: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Where and how ``value`` departs from ``schema``, depth first."""
    if "$ref" in schema:
        yield from _complaints(value, shapes[schema["$ref"].rpartition("/")[2]], shapes, path)
    if "anyOf" in schema:
        tries = [list(_complaints(value, option, shapes, path)) for option in schema["anyOf"]]
        if all(tries):
            yield min(tries, key=len)[0]
    yield from _own_complaints(value, schema, path)
    if isinstance(value, dict):
        yield from _of_object(value, schema, shapes, path)
    if isinstance(value, list) and "items" in schema:
        for position, item in enumerate(value):
            yield from _complaints(item, schema["items"], shapes, f"{path}[{position}]")


def _own_complaints(value: object, schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds
    if names and not any(_is(value, name) for name in names):
        yield path, f"should be {' or '.join(names)}"
        return
    if "const" in schema and value != schema["const"]:
        yield path, f"should be {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield path, f"should be one of {', '.join(map(str, schema['enum']))}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield path, "is not written as it should be"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield path, "is empty"
    if "minimum" in schema and _is(value, "number") and value < schema["minimum"]:
        yield path, f"is below {schema['minimum']}"
    if isinstance(value, list) and len(value) > schema.get("maxItems", len(value)):
        yield path, f"holds more than {schema['maxItems']} entries"


def _of_object(value: dict[str, Any], schema: Schema, shapes: Schema, path: str) -> Iterator[tuple[str, str]]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}", "is missing"
    known = schema.get("properties", {})
    for name, part in known.items():
        if name in value:
            yield from _complaints(value[name], part, shapes, f"{path}.{name}")
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        for name in value.keys() - known.keys():
            yield from _complaints(value[name], more, shapes, f"{path}.{name}")
    if "if" in schema:
        holds = not any(_complaints(value, schema["if"], shapes, path))
        branch = schema.get("then" if holds else "else")
        if branch:
            yield from _complaints(value, branch, shapes, path)


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])
