"""A small vocabulary, and rules from text."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from engine.rulebook import Known
from engine.rulebook import Rulebook
from engine.rulebook import load_rules_text
from engine.verify import Finding
from engine.verify import lint
from engine.vocabulary import Code
from engine.vocabulary import FactDef
from engine.vocabulary import Vocabulary


Lint = Callable[..., list[Finding]]


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    facts = [
        FactDef(name="training", type="bool"),
        FactDef(name="cuda_required", type="bool"),
        FactDef(name="task", type="enum", choices=("pretraining", "finetuning", "inference")),
        FactDef(name="framework", type="enum", choices=("pytorch", "other"), open=True),
        FactDef(name="tier", type="enum", choices=("low", "middle", "high"), role="derived"),
        FactDef(name="grade", type="enum", choices=("a", "b"), role="derived", question="Which grade?"),
        FactDef(name="verdict", type="enum", choices=("rent", "buy"), role="output", available="outcome"),
        FactDef(name="param_count_b", type="number", min=0, exclusive_min=True),
        FactDef(name="share_pct", type="number", min=0, max=100),
        FactDef(name="num_models", type="int", min=1),
        FactDef(name="run_hours", type="number", min=0),
        FactDef(name="model_name", type="text"),
        FactDef(name="wishes", type="list", items="enum", choices=("quiet", "cheap", "fast")),
        FactDef(name="plan.count", type="int", min=1, scope="plan", available="plan"),
        FactDef(name="gpu.name", type="text", scope="gpu", available="plan"),
    ]
    return Vocabulary({fact.name: fact for fact in facts}, {"W-X": Code(code="W-X", meaning="x")})


@pytest.fixture(scope="session")
def load(vocabulary: Vocabulary) -> Callable[[str], Rulebook]:
    """Rules from indented text."""
    return lambda text: load_rules_text(textwrap.dedent(text), vocabulary)


@pytest.fixture(scope="session")
def findings(load: Callable[[str], Rulebook], vocabulary: Vocabulary) -> Lint:
    """What one check says about rules."""

    def findings(text: str, check: str, *, known: Known | None = None, **more: Any) -> list[Finding]:
        found = lint(load(text), vocabulary, known or Known(), datetime.date(2026, 6, 30), **more)
        return [finding for finding in found if finding.check == check]

    return findings
