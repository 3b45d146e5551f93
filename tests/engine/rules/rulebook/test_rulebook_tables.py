from __future__ import annotations

from collections.abc import Callable

import pytest

from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language import parse_condition
from whichgpu.engine.rules.language.tree import written
from whichgpu.engine.rules.rulebook import Rulebook
from whichgpu.engine.rules.rulebook.effects import Points


TABLE = """
- table: bands
  title: Cards by size
  stage: prefer
  each: plan
  hit: first
  complete: true
  when: [training]
  columns: [param_count_b, size_class, cuda_required, wishes, gpu.series]
  then: {reason: fit}
  because: The guides say so.
  sources: [fpt/3.4]
  rows:
    - id: mid
      if: [7..13, [small, medium], yes, quiet, l40s]
      then: {points: 3}
      tests:
        - given: {param_count_b: 8}
          fires: true
    - id: limits
      title: Own title
      if: ['> 3 and <= 30', '!= large', no, [quiet, cheap], is known]
      then: {points: -1, reason: speed, text: "{gpu.name}"}
      because: Own ground.
      sources: [runpod]
      overrides: []
    - id: rest
      if: [-, -, -, -, -]
      then: {points: 1}
"""


def test_a_row_is_a_rule_with_what_its_table_says(load: Callable[[str], Rulebook]) -> None:
    book = load(TABLE)
    mid, limits, rest = (book.rule(f"bands/{row}") for row in ("mid", "limits", "rest"))
    assert [rule.row for rule in (mid, limits, rest)] == [0, 1, 2]
    assert {rule.table for rule in book.rules} == {"bands"}
    assert {rule.hit for rule in book.rules} == {"first"}
    assert mid.effects == (Points(3, "fit"),)
    assert limits.effects == (Points(-1, "speed"),)
    assert (limits.title, limits.because, limits.sources) == ("Own title", "Own ground.", ("runpod",))
    assert (mid.title, mid.because, mid.sources) == ("Cards by size", "The guides say so.", ("fpt/3.4",))
    assert limits.mentions == {"gpu.name"}
    assert mid.tests[0].given == {"param_count_b": 8.0}


def test_cells_read_as_conditions_on_their_columns(load: Callable[[str], Rulebook]) -> None:
    book = load(TABLE)
    texts = {rule.id: [(line.column, line.text) for line in rule.when] for rule in book.rules}
    assert texts["bands/mid"] == [
        (None, "training"),
        ("param_count_b", "param_count_b >= 7 and param_count_b <= 13"),
        ("size_class", "size_class in [small, medium]"),
        ("cuda_required", "cuda_required"),
        ("wishes", "wishes has quiet"),
        ("gpu.series", "gpu.series == l40s"),
    ]
    assert texts["bands/limits"] == [
        (None, "training"),
        ("param_count_b", "param_count_b > 3 and param_count_b <= 30"),
        ("size_class", "size_class != large"),
        ("cuda_required", "not cuda_required"),
        ("wishes", "wishes has quiet or wishes has cheap"),
        ("gpu.series", "gpu.series is known"),
    ]
    assert texts["bands/rest"] == [(None, "training")]


def test_the_table_itself_is_kept(load: Callable[[str], Rulebook]) -> None:
    (table,) = load(TABLE).tables
    assert table.columns == ("param_count_b", "size_class", "cuda_required", "wishes", "gpu.series")
    assert table.rows == ("bands/mid", "bands/limits", "bands/rest")
    assert (table.hit, table.complete, table.stage, table.each) == ("first", True, "prefer", "plan")


@pytest.mark.parametrize(
    "text",
    [
        "training",
        "not training",
        "param_count_b > 3 and (training or size_class == small)",
        "num_models * 2 - (own_score / 3) >= 7",
        "size_class not in [small, large]",
        'model_name == "llama 3"',
        "wishes has quiet",
        "run_hours is unknown or (run_hours is known)",
        "not (training and cuda_required)",
    ],
)
def test_what_is_written_reads_as_the_same_tree(text: str, vocabulary: Vocabulary) -> None:
    tree = parse_condition(text, vocabulary)
    assert parse_condition(written(tree), vocabulary) == tree
