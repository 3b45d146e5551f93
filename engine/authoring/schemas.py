"""JSON Schemas of every kind of file that experts edit, so that editors complete and check while they type.

Made from what the loaders check with. Names of facts, codes, GPUs and sources are offered for completion and never
enforced: a layer may bring its own, and the loader knows them all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from whichgpu.engine.advisor import FitFile, LaunchFile, ObjectivesFile
from whichgpu.engine.authoring.testing.expectations import EXPECTATIONS
from whichgpu.engine.authoring.testing.scenarios import SCENARIO_KEYS
from whichgpu.engine.catalogue import (
    CurrenciesFile,
    Knowledge,
    PriceFeedsFile,
    TasksFile,
    entry_schemas,
    knowledge_file_schemas,
)
from whichgpu.engine.core import CONSTANT_FILES, FrozenModel, Parameter, Policy, model_of
from whichgpu.engine.plans import EconomicsConstants, PlanConstants
from whichgpu.engine.rules import Code, FactDef, Vocabulary, rule_file_schema
from whichgpu.engine.sizing import BandFormulas, MemoryBands, SizingConstants, SpeedConstants


Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

#: Where a layer keeps the schemas that its files name in their first lines.
LAYER_FOLDER = ".schemas"
#: The kinds of file that a layer may have.
LAYER_SCHEMAS = (
    "codes",
    "costs",
    "disagreements",
    "economics",
    "figures",
    "gpus",
    "heuristics",
    "models",
    "objectives",
    "parameters",
    "plans",
    "policy",
    "rules",
    "scenarios",
    "sources",
    "tasks",
    "vocabulary",
)

_WHOLE_FILES: dict[str, type[FrozenModel]] = {
    "currencies": CurrenciesFile,
    "economics": EconomicsConstants,
    "fit": FitFile,
    "launch": LaunchFile,
    "objectives": ObjectivesFile,
    "plans": PlanConstants,
    "memory_band_formulas": BandFormulas,
    "memory_bands": MemoryBands,
    "policy": Policy,
    "price_feeds": PriceFeedsFile,
    "sizing": SizingConstants,
    "speed": SpeedConstants,
    "tasks": TasksFile,
}


def file_schemas(vocabulary: Vocabulary, knowledge: Knowledge) -> dict[str, Schema]:
    """The schemas by name. The vocabulary and the knowledge give the names to offer."""
    schemas = {
        "rules": _rules(vocabulary, knowledge),
        "vocabulary": _by_name("facts", FactDef, "name", "the facts, by name"),
        "scenarios": scenario_file_schema(),
        "codes": _by_name("codes", Code, "code", "the codes of advice (A-) and warnings (W-)"),
        "parameters": _by_name("parameters", Parameter, "name", "numbers that rules and knowledge name as $name"),
        **knowledge_file_schemas(),
        **entry_schemas(),
    }
    for name, record in _WHOLE_FILES.items():
        schemas[name] = {"$schema": DIALECT, **model_of(record).model_json_schema(), "title": f"whichgpu {name}"}
        _without_bands(schemas[name])
        if f"{name}.yaml" in CONSTANT_FILES:
            _may_be_laid_over(schemas[name])
    for name in ("economics", "figures", "plans", "speed"):
        _with_parameters(schemas[name])
    _one_assumption_or_list(schemas["vocabulary"])
    return dict(sorted(schemas.items()))


def scenario_file_schema() -> Schema:
    """The schema of the files in ``scenarios/`` of a rule folder."""
    anything: Schema = {"type": "object"}
    shapes: dict[str, Schema] = {"facts": anything, "number": {"type": "number"}, "names": {"type": "array"}}
    properties: Schema = {
        key.name: {
            **({"enum": list(key.choices)} if key.choices else shapes.get(key.kind, {"type": "string"})),
            "description": key.says,
        }
        for key in SCENARIO_KEYS
    }
    properties["expect"]["properties"] = {name: {} for name in sorted(EXPECTATIONS)}
    required = [key.name for key in SCENARIO_KEYS if key.required]
    item = {**anything, "properties": properties, "required": required, "additionalProperties": False}
    return {"$schema": DIALECT, "title": "whichgpu scenarios", "type": "array", "items": item}


def text_of(schema: Mapping[str, Any]) -> str:
    """The committed form of a schema."""
    return json.dumps(schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rules(vocabulary: Vocabulary, knowledge: Knowledge) -> Schema:
    """The schema of rule files, with the names that are known offered where one is due."""
    schema = rule_file_schema()
    facts = sorted(vocabulary.facts)
    workload = [name for name in facts if "." not in name]
    definitions = schema["$defs"]
    definitions["facts"] = _offered(facts)
    definitions["sources"] = _offered(knowledge.sources)
    definitions["advice"] = _offered(code for code in vocabulary.codes if code.startswith("A-"))
    definitions["warnings"] = _offered(code for code in vocabulary.codes if code.startswith("W-"))
    definitions["figures"] = _offered(knowledge.figures)
    definitions["disagreements"] = _offered(knowledge.disagreements)
    definitions["gpus"] = _offered({name for gpu in knowledge.gpus.values() for name in (gpu.id, gpu.family)})
    definitions["cards"] = _offered(
        {name for gpu in knowledge.gpus.values() for name in (gpu.id, gpu.family, gpu.series)}
    )
    claim = definitions["claim"]["anyOf"][1]["properties"]
    claim["over"] = {"$ref": "#/$defs/cards", "description": claim["over"]["description"]}
    for kind in ("rule", "table", "row"):
        definitions[kind]["properties"]["sources"] = _names("sources", definitions[kind]["properties"]["sources"])
    effects = definitions["effects"]["properties"]
    kinds = {"advise": "advice", "warn": "warnings", "figure": "figures", "disagree": "disagreements", "ask": "facts"}
    for key, names in kinds.items():
        effects[key] = _names(names, effects[key])
    definitions["table"]["properties"]["columns"]["items"] = {"$ref": "#/$defs/facts"}
    effects["set"]["properties"] = _described(vocabulary, facts)
    for test in definitions["test"]["anyOf"]:
        properties = test["properties"]
        if "given" in properties:
            properties["given"]["properties"] = _described(vocabulary, workload)
            properties["plan"]["properties"] = {"gpu": {"$ref": "#/$defs/gpus"}}
    return schema


def _offered(names: Iterable[str]) -> Schema:
    """Any text, the known names being offered."""
    return {"anyOf": [{"enum": sorted(names)}, {"type": "string", "minLength": 1}]}


def _names(definition: str, old: Mapping[str, Any]) -> Schema:
    one = {"$ref": f"#/$defs/{definition}"}
    return {"anyOf": [one, {"type": "array", "items": one}], "description": old["description"]}


def _described(vocabulary: Vocabulary, names: Iterable[str]) -> Schema:
    """Keys with what they mean; their values are the loader's to judge, since ``70b`` is a number too."""
    return {name: {"description": vocabulary.facts[name].meaning or vocabulary.facts[name].label} for name in names}


def _by_name(key: str, record: type[FrozenModel], name: str, says: str) -> Schema:
    """A file that maps names to records. An entry with ``because`` changes one of a layer below."""
    schema = model_of(record).model_json_schema()
    definitions = schema.pop("$defs", {})
    properties = {field: value for field, value in schema["properties"].items() if field != name}
    required = [field for field in schema["required"] if field != name]
    closed = {"type": "object", "additionalProperties": False}
    reason = {"because": {"type": "string", "description": "in a layer: why the entry below is changed"}}
    return {
        "$schema": DIALECT,
        "title": f"whichgpu {key}",
        "description": says,
        **closed,
        "properties": {key: {"type": "object", "additionalProperties": {"$ref": "#/$defs/entry"}}},
        "required": [key],
        "$defs": {
            **definitions,
            "entry": {
                "if": {"required": ["because"]},
                "then": {**closed, "properties": {**properties, **reason}},
                "else": {**closed, "properties": properties, "required": required},
            },
        },
    }


def _without_bands(schema: Schema) -> None:
    """A constant may leave out its band; the loader then takes the value for both ends."""
    for definition in schema.get("$defs", {}).values():
        if {"value", "low", "high"} <= set(definition.get("properties", {})):
            definition["required"] = [key for key in definition.get("required", ()) if key not in ("low", "high")]


def _may_be_laid_over(schema: Schema) -> None:
    """A layer's file says why, and writes only the keys that differ."""
    reason = {"because": {"type": "string", "description": "in a layer: why these constants are others"}}
    schema["properties"] |= reason
    required = schema.pop("required", [])
    schema["anyOf"] = [{"required": required}, {"required": ["because"]}]
    for definition in schema.get("$defs", {}).values():
        definition.pop("required", None)


def _with_parameters(schema: Any) -> None:
    """Where a number may stand, a parameter may: ``$name``."""
    if isinstance(schema, dict):
        if (kind := schema.get("type")) in ("number", "integer"):
            schema |= {"type": [kind, "string"], "pattern": r"^\$[a-z][a-z0-9_]*$"}
        for part in list(schema.values()):
            _with_parameters(part)
    elif isinstance(schema, list):
        for part in schema:
            _with_parameters(part)


def _one_assumption_or_list(schema: Schema) -> None:
    """``when_unstated`` may be one assumption, without a list around it."""
    entry = schema["$defs"]["entry"]
    for branch in ("then", "else"):
        entry[branch]["properties"]["when_unstated"]["anyOf"].append({"$ref": "#/$defs/Assume"})
