"""The committed JSON Schemas are fresh, accept every shipped file, and are named in each file's first line."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from whichgpu import Advisor
from whichgpu.engine.authoring.schemas import LAYER_SCHEMAS, file_schemas, text_of


ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "schemas"
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("rules", "knowledge")
    for path in (ROOT / folder).rglob("*.yaml")
    if path.name not in {"coverage.yaml", "activation_traces.yaml"}  # Kept by a command, not edited by hand.
)
#: Which schema each shipped file follows, by its path from the root. The first that matches counts.
NAMES: tuple[tuple[str, str], ...] = (
    ("rules/scenarios/*.yaml", "scenarios"),
    ("rules/guides/*.yaml", "scenarios"),
    ("rules/*.yaml", "rules"),
    ("knowledge/gpus/*.yaml", "gpus"),
    ("knowledge/models/*.yaml", "models"),
    ("knowledge/memory_reserve.yaml", "reserves"),
)


def schema_name(file: str) -> str:
    """The schema of the file at this path from the root: by its folder, else the file's own name."""
    return next((name for pattern, name in NAMES if fnmatch(file, pattern)), Path(file).stem)


@pytest.fixture(scope="module")
def schemas(advisor: Advisor) -> dict[str, dict[str, object]]:
    return file_schemas(advisor.vocabulary, advisor.knowledge)


def test_committed_schemas_are_fresh(schemas: dict[str, dict[str, object]]) -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    wanted = {f"{name}.schema.json": text_of(schema) for name, schema in schemas.items()}
    stale = [name for name in sorted({*committed, *wanted}) if committed.get(name) != wanted.get(name)]
    assert not stale, "run: whichgpu schema --write docs/schemas"


@pytest.mark.parametrize("file", FILES)
def test_shipped_files_name_their_schema_and_follow_it(file: str, schemas: dict[str, dict[str, object]]) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    schema = f"{'../' * file.count('/')}docs/schemas/{schema_name(file)}.schema.json"
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={schema}"
    assert (ROOT / file).parent.joinpath(text.splitlines()[0].partition("$schema=")[2]).resolve().is_file()
    validator = jsonschema_rs.Draft202012Validator(schemas[schema_name(file)])
    content = json.loads(json.dumps(yaml.safe_load(text), default=str))  # An editor sees keys as text.
    errors = [error.message for error in validator.iter_errors(content)]
    assert not errors


def test_names_are_offered_and_not_enforced(schemas: dict[str, dict[str, object]]) -> None:
    definitions = schemas["rules"]["$defs"]
    assert isinstance(definitions, dict)
    offered = definitions["gpus"]["anyOf"][0]["enum"]
    assert "nvidia-l40s" in offered
    assert jsonschema_rs.Draft202012Validator(definitions["gpus"]).is_valid("acme-hush-48")


@pytest.mark.parametrize("name", LAYER_SCHEMAS)
def test_every_kind_of_file_in_a_layer_has_a_schema(name: str, schemas: dict[str, dict[str, object]]) -> None:
    jsonschema_rs.meta.validate(schemas[name])


def test_a_change_of_a_record_below_needs_only_its_reason(schemas: dict[str, dict[str, object]]) -> None:
    gpus = jsonschema_rs.Draft202012Validator(schemas["gpus"])
    assert gpus.is_valid({"gpus": [{"id": "nvidia-l40s", "because": "Our own quote.", "buy_usd": 6000}]})
    assert not gpus.is_valid({"gpus": [{"id": "nvidia-l40s", "buy_usd": 6000}]})
    facts = jsonschema_rs.Draft202012Validator(schemas["vocabulary"])
    assert facts.is_valid({"facts": {"task": {"because": "Ours.", "question": "What for?"}}})
    assert not facts.is_valid({"facts": {"task": {"question": "What for?"}}})
