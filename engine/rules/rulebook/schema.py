"""JSON Schema of rule files, for editors. Built from the tables the loader uses, so the two cannot drift apart."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.rules.rulebook.effects import EFFECT_KEYS
from whichgpu.engine.rules.rulebook.grammar import (
    CLAIM_KEYS,
    DATE_PATTERN,
    DISABLE_KEYS,
    EACH_OF_STAGE,
    ID_PATTERN,
    NEAR_MISS_KEYS,
    ROW_KEYS,
    RULE_KEYS,
    TABLE_KEYS,
    TEST_KEYS,
    Key,
    Kind,
)
from whichgpu.engine.rules.rulebook.outcomes import SAYS_WHAT_FOLLOWS, SENTENCES


Schema = dict[str, Any]

_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_NAME: Schema = {"type": "string", "minLength": 1}
_NUMBER: Schema = {"type": ["number", "string"]}
_FACTS: Schema = {
    "type": "object",
    "additionalProperties": {"anyOf": [_SCALAR, {"type": "array", "items": {"anyOf": [_SCALAR, {"type": "object"}]}}]},
}
_CONDITION: Schema = {"type": ["string", "boolean"]}
_CONDITIONS: Schema = {
    "type": "array",
    "items": {
        "anyOf": [
            _CONDITION,
            {
                "type": "object",
                "properties": {"any": {"type": "array", "items": _CONDITION, "minItems": 1}},
                "required": ["any"],
                "additionalProperties": False,
            },
        ]
    },
}
_SHAPES: dict[Kind, Schema] = {
    "id": {"type": "string", "pattern": ID_PATTERN},
    "name": _NAME,
    "text": {"type": ["string", "number"]},
    "template": {"type": "string"},
    "flag": {"type": "boolean"},
    "date": {"type": "string", "pattern": DATE_PATTERN},
    "names": {"anyOf": [_NAME, {"type": "array", "items": _NAME}]},
    "counts": {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
        ]
    },
    "number": {"type": "number", "not": {"const": 0}},
    "conditions": _CONDITIONS,
    "settings": {"type": "object", "additionalProperties": _SCALAR, "minProperties": 1},
    "targets": {
        "type": "object",
        "additionalProperties": {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}]},
        "minProperties": 1,
    },
    "claim": {"$ref": "#/$defs/claim"},
    "effects": {"$ref": "#/$defs/effects"},
    "columns": {"type": "array", "items": _NAME, "minItems": 1},
    "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}, "minItems": 1},
    "cells": {"type": "array", "items": {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}},
    "tests": {"type": "array", "items": {"$ref": "#/$defs/test"}},
    "facts": _FACTS,
    "outcomes": {"type": "object", "minProperties": 1},
    "sentences": {
        "type": "object",
        "properties": {key: {"type": "string"} for key in SENTENCES},
        "minProperties": 1,
        "additionalProperties": False,
    },
    "plan": {"type": ["string", "boolean"], "minLength": 1},
    "one_fact": {**_FACTS, "minProperties": 1, "maxProperties": 1},
}


def rule_file_schema() -> Schema:
    """The JSON Schema (draft 2020-12) of one file in ``rules/``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "whichgpu rule file",
        "description": "A list of rules and decision tables; see docs/rules.md.",
        "type": "array",
        "items": {
            "if": {"required": ["table"]},
            "then": {"$ref": "#/$defs/table"},
            "else": {
                "if": {"required": ["disable"]},
                "then": {"$ref": "#/$defs/disabling"},
                "else": {"$ref": "#/$defs/rule"},
            },
        },
        "$defs": {
            "rule": {**_mapping(RULE_KEYS), "allOf": _stage_limits()},
            "table": _mapping(TABLE_KEYS),
            "row": _mapping(ROW_KEYS),
            "disabling": _mapping(DISABLE_KEYS),
            "effects": {
                "type": "object",
                "properties": {key.name: _value(key) for key in EFFECT_KEYS},
                "minProperties": 1,
                "additionalProperties": False,
                "not": {"required": ["claim", "band"]},
            },
            "claim": _claim(),
            "test": {"anyOf": [_test(), _mapping(NEAR_MISS_KEYS)]},
        },
    }


def _mapping(keys: tuple[Key, ...]) -> Schema:
    return {
        "type": "object",
        "properties": {key.name: _value(key) for key in keys},
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _value(key: Key) -> Schema:
    shape = {"enum": list(key.choices)} if key.kind == "word" else _SHAPES[key.kind]
    return {**shape, "description": key.says}


def _test() -> Schema:
    """A test says whether the rule fires, or what follows, which is that it does."""
    follows = [{"required": [name]} for name in SAYS_WHAT_FOLLOWS]
    not_fired = {"properties": {"fires": {"const": False}}, "required": ["fires"]}
    limits = [{"anyOf": [{"required": ["fires"]}, *follows]}, {"not": {"allOf": [not_fired, {"anyOf": follows}]}}]
    return {**_mapping(TEST_KEYS), "allOf": limits}


def _claim() -> Schema:
    """A claim in its short form, a quantity, or in full."""
    full = _mapping(CLAIM_KEYS)
    full["properties"]["ratio"] = {"type": "number", "exclusiveMinimum": 0, "description": CLAIM_KEYS[1].says}
    return {"anyOf": [{"enum": list(CLAIM_KEYS[0].choices)}, full]}


def _stage_limits() -> list[Schema]:
    """For each stage: its scopes, and the effects that it may not have."""
    limits: list[Schema] = []
    for stage, scopes in EACH_OF_STAGE.items():
        foreign = [key.name for key in EFFECT_KEYS if stage not in key.stages]
        allowed = {"each": {"enum": list(scopes)}, "then": {"properties": dict.fromkeys(foreign, False)}}
        condition = {"properties": {"stage": {"const": stage}}, "required": ["stage"]}
        limits.append({"if": condition, "then": {"properties": allowed}})
    return limits
