"""Who answers for a rule: what it says itself, then its table, then its layer."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, Rulebook, load_rulebook
from whichgpu.engine.rules.rulebook.layers import rule_digest


TABLE = """
- table: t
  title: T
  stage: advise
  author: A. Expert
  approved_on: 2026-11-20
  columns: [training]
  because: B.
  rows:
    - {id: a, if: [yes], then: {advise: A-FP8}}
    - {id: b, if: [no], then: {advise: A-SPOT}, author: C. Other}
"""


def folder(path: Path, layer: str) -> Path:
    (path / "rules.yaml").write_text(textwrap.dedent(TABLE))
    (path / "layer.yaml").write_text(layer)
    return path


def test_rows_tables_and_layers_say_who_answers(tmp_path: Path, vocabulary: Vocabulary, known: KnownNames) -> None:
    book = load_rulebook([folder(tmp_path, "author: Us\nreviewed_by: B. Reader\n")], vocabulary, known, cached=False)
    assert [tuple(rule.responsible.stated().values()) for rule in book.rules] == [
        ("A. Expert", "B. Reader", "2026-11-20"),
        ("C. Other", "B. Reader", "2026-11-20"),
    ]
    assert book.layers[0].responsible.stated() == {"author": "Us", "reviewed_by": "B. Reader"}


def test_it_decides_nothing(load: Callable[[str], Rulebook]) -> None:
    one, other = load(TABLE), load(TABLE.replace("C. Other", "D. Third"))
    assert [rule_digest(rule) for rule in one.rules] == [rule_digest(rule) for rule in other.rules]
    assert one.rules != other.rules


def test_what_a_layer_says_wrongly_is_reported(tmp_path: Path, vocabulary: Vocabulary, known: KnownNames) -> None:
    with pytest.raises(RulebookError, match=r"layer.yaml:1:1: .*'autor'.*\n.*\n.*\n.*author"):
        load_rulebook([folder(tmp_path, "autor: Us\n")], vocabulary, known, cached=False)
