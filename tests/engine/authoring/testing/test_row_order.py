"""Rows that change places: noticed by a test on which both match, which is suggested where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whichgpu.engine.authoring import mutate_order
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import Rulebook

from .test_mutation import facts_for


TABLE = """
- table: t
  title: T
  stage: derive
  hit: %s
  columns: [param_count_b]
  because: B.
  rows:
    - id: small
      if: ['<= 7']
      then: {set: {tier: low}}
      tests:
        - {given: {param_count_b: %s}, fires: true}
    - id: middling
      if: ['%s']
      then: {set: {tier: %s}}
      tests:
        - {given: {param_count_b: 20}, fires: true}
"""


@pytest.mark.parametrize(
    ("hit", "tested", "below", "tier", "counts"),
    [
        ("first", 1, "between 4 and 30", "middle", (0, 1, 0)),
        ("first", 5, "between 4 and 30", "middle", (1, 0, 0)),
        ("first", 5, "between 8 and 30", "middle", (0, 0, 1)),
        ("first", 1, "between 4 and 30", "low", (0, 0, 1)),
        ("collect", 1, "between 4 and 30", "middle", (0, 0, 0)),
    ],
    ids=["no test in both", "a test in both", "no case in both", "both do the same", "all rows count"],
)
def test_rows_that_change_places(
    load: Callable[[str], Rulebook],
    vocabulary: Vocabulary,
    hit: str,
    tested: int,
    below: str,
    tier: str,
    counts: tuple[int, ...],
) -> None:
    cell = below.replace("between ", ">= ").replace(" and ", " and <= ")
    report = mutate_order(load(TABLE % (hit, tested, cell, tier)), facts_for, vocabulary)
    assert (report.killed, len(report.survivors), report.equivalent) == counts
    for survivor in report.survivors:
        assert (survivor.rule, survivor.what) == ("t/small", "the row middling put above it")
        assert survivor.suggestion is not None
        assert survivor.suggestion.text == "- {given: {param_count_b: 4}, fires: true}"
