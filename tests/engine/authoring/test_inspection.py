"""What the checks take from the rest of the engine has to be so."""

from __future__ import annotations

import ast
from datetime import date
from pathlib import Path

import pytest

from whichgpu import engine
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.authoring import StatedNumber
from whichgpu.engine.authoring.guides.statements import statements
from whichgpu.engine.authoring.inspection import (
    READ_BY_THE_PIPELINE,
    consumed_facts,
    inspect,
    produced_facts,
)


ENGINE = Path(engine.__file__).parent


@pytest.mark.parametrize("fact", sorted(READ_BY_THE_PIPELINE))
def test_the_engine_names_each_fact_that_it_is_said_to_read(fact: str) -> None:
    files = (file for file in ENGINE.rglob("*.py") if file.name != "inspection.py" and "verify" not in file.parts)
    texts = {_text(node) for file in files for node in ast.walk(ast.parse(file.read_text()))}
    assert fact in texts


def _text(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def test_the_shipped_rulebook_has_no_error() -> None:
    found = inspect(shipped_advisor(), date(2026, 6, 30))
    assert [finding.message for finding in found if finding.severity == "error"] == []


def test_procurement_is_given_by_rules_alone() -> None:
    facts = produced_facts(shipped_advisor().vocabulary)
    assert "weights_gb" in facts
    assert "procurement" not in facts
    assert "param_count_b" in consumed_facts()


def test_heuristics_give_their_numbers_with_unit_or_fact(tmp_path: Path) -> None:
    assert statements(tmp_path) == {}
    (tmp_path / "heuristics.yaml").write_text(
        "heuristics:\n"
        "- id: many\n  numbers: [7 B, '1,000 GPUs (words)', 4x, about ten]\n"
        "  condition: {words: W, expr: 'param_count_b <= 7 and num_gpus in [16, 64] and task == x'}\n"
    )
    assert statements(tmp_path).keys() == {"many"}
    assert statements(tmp_path)["many"].numbers == {
        StatedNumber("B", 7.0),
        StatedNumber("GPUs", 1000.0),
        StatedNumber("x", 4.0),
        StatedNumber("param_count_b", 7.0),
        StatedNumber("num_gpus", 16.0),
        StatedNumber("num_gpus", 64.0),
    }
