"""Checks over the models of the catalogue: each finds its fault, and nothing in what is shipped."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from whichgpu.engine.authoring.inspection import lint_rulebook
from whichgpu.engine.authoring.lint.finding import Finding, Surroundings
from whichgpu.engine.catalogue import ModelSpec, load_knowledge
from whichgpu.engine.core import locate, record_of
from whichgpu.engine.rules import KnownNames, Rulebook, load_vocabulary


KNOWLEDGE = load_knowledge()
RUNS = frozenset(key for key, source in KNOWLEDGE.sources.items() if source.runs)
LLAMA = {
    "id": "llama-3.1-8b",
    "name": "Llama",
    "kind": "llm",
    "params_b": 8.03,
    "layers": 32,
    "hidden": 4096,
    "heads": 32,
    "kv_heads": 8,
    "intermediate": 14336,
    "vocab": 128256,
    "gated_mlp": True,
    "tied_embeddings": False,
    "sources": ["litgpt"],
}


def found(models: dict[str, ModelSpec]) -> list[Finding]:
    empty, day = Rulebook((), (), "", ()), datetime.date(2026, 6, 30)
    vocabulary = load_vocabulary(locate("knowledge"))
    return lint_rulebook(empty, vocabulary, KnownNames(), day, Surroundings(models=models, run_sources=RUNS))


def of_one(**fields: Any) -> list[tuple[str, str]]:
    model = record_of(ModelSpec, {**LLAMA, **fields})
    return [(finding.check, finding.severity) for finding in found({model.id: model}) if finding.rule == model.id]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"sources": ["published-runs"]}, [("model-known-by-its-runs", "error")]),
        ({"sources": ["published-runs", "litgpt"]}, []),
        ({"aliases": ["acme/Acme-2B-Text2Image"]}, [("kind-of-a-sibling", "error")]),
        ({"components_b": {"language": 8.03, "vision_and_projector": 0.4}}, [("kind-of-a-sibling", "error")]),
        ({"params_b": 7.5}, [("size-beside-its-dimensions", "error")]),
        ({"params_b": 7.5, "dims_differ_because": "a reason"}, [("size-beside-its-dimensions", "info")]),
        ({"id": "acme-vl-8b", "kind": "multimodal", "params_b": 8.6, "components_b": {"language": 8.03}}, []),
    ],
)
def test_each_check_finds_its_fault(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert of_one(**fields) == expected


def test_the_shipped_models_have_none() -> None:
    assert RUNS
    findings = [finding for finding in found(dict(KNOWLEDGE.models)) if finding.rule in KNOWLEDGE.models]
    assert not [finding.message for finding in findings if finding.severity != "info"]
