from __future__ import annotations

from collections.abc import Callable

import pytest

from whichgpu.engine.rules.rulebook import Rulebook


RULES = """
- {id: b, title: T, stage: derive, when: [training], then: {set: {size_class: small}}, because: B.}
- {id: a, title: T, stage: advise, each: chosen, when: [training], then: {warn: W-NO-ECC}, because: B.}
- {id: c, title: T, stage: advise, when: [training], then: {warn: W-NO-ECC}, because: B.}
"""


def test_rules_are_found_by_id(load: Callable[[str], Rulebook]) -> None:
    book = load(RULES)
    assert book.rule("b").writes == {"size_class"}
    with pytest.raises(KeyError):
        book.rule("z")


def test_rules_are_found_by_stage_and_scope(load: Callable[[str], Rulebook]) -> None:
    book = load(RULES)
    assert [rule.id for rule in book.of_stage("advise")] == ["a", "c"]
    assert [rule.id for rule in book.of_stage("advise", "chosen")] == ["a"]
    assert book.of_stage("reject") == ()


def test_an_override_of_a_table_is_one_of_all_its_rows(load: Callable[[str], Rulebook]) -> None:
    book = load("""
    - {id: x, title: T, stage: derive, when: [training], then: {set: {size_class: small}}, because: B., overrides: [t]}
    - table: t
      title: T
      stage: derive
      columns: [run_hours]
      because: B.
      rows:
        - {id: one, if: [1], then: {set: {size_class: large}}}
        - {id: two, if: [2], then: {set: {size_class: large}}}
    """)
    assert book.rule("x").overrides == ("t/one", "t/two")
