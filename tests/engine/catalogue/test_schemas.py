"""The schemas that editors use accept the shipped files and refuse what the loader refuses."""

from __future__ import annotations

import jsonschema_rs
import pytest
import yaml

from whichgpu.engine.catalogue.schemas import knowledge_file_schemas
from whichgpu.engine.core.folders import locate


SCHEMAS = knowledge_file_schemas()
FILES = {
    "gpus": "gpus/*.yaml",
    "models": "models/*.yaml",
    "sources": "sources.yaml",
    "costs": "costs.yaml",
    "reserves": "memory_reserve.yaml",
}


@pytest.mark.parametrize("key", sorted(FILES))
def test_shipped_files_are_accepted(key: str) -> None:
    validator = jsonschema_rs.Draft202012Validator(SCHEMAS[key])
    jsonschema_rs.meta.validate(SCHEMAS[key])
    paths = sorted(locate("knowledge").glob(FILES[key]))
    assert paths
    for path in paths:
        errors = [error.message for error in validator.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))]
        assert not errors, path.name


def test_an_unknown_key_is_refused() -> None:
    gpu = {"id": "x", "family": "x", "series": "x", "name": "x", "vendor": "x"}
    validator = jsonschema_rs.Draft202012Validator(SCHEMAS["gpus"])
    assert validator.is_valid({"gpus": [gpu]})
    assert not validator.is_valid({"gpus": [{**gpu, "vramm_gb": 1}]})
    assert not validator.is_valid({"gpu": [gpu]})
