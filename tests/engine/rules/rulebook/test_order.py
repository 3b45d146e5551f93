from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.core.errors import Place, RulebookError
from whichgpu.engine.rules.rulebook import Rulebook, levels, rule_nodes, topological_levels


FACTS = st.frozensets(st.sampled_from("abcdef"), max_size=3)


@given(st.dictionaries(st.sampled_from(["p", "q", "r", "s", "t"]), st.tuples(FACTS, FACTS)))
def test_each_producer_comes_after_all_that_it_reads_or_a_circle_is_shown(
    nodes: dict[str, tuple[frozenset[str], frozenset[str]]],
) -> None:
    try:
        found = topological_levels(nodes)
    except RulebookError as error:
        path = error.problems[0].message.partition(": ")[2].split(" -> ")
        names = [step.partition(" ")[0] for step in path]
        assert names[0] == names[-1]
        for writer, reader in pairwise(names):
            assert nodes[writer][1] & nodes[reader][0]
        return
    level = {name: number for number, names in enumerate(found) for name in names}
    assert sorted(level) == sorted(nodes)
    for reader, (reads, _) in nodes.items():
        for writer, (_, writes) in nodes.items():
            if reads & writes:
                assert level[writer] < level[reader]


def test_levels_are_as_low_as_they_can_be_and_sorted() -> None:
    none: frozenset[str] = frozenset()
    nodes = {
        "z": (none, frozenset("a")),
        "y": (none, frozenset("b")),
        "x": (frozenset("a"), frozenset("c")),
        "w": (frozenset("ca"), none),
        "v": (frozenset("q"), none),
    }
    assert topological_levels(nodes) == (("v", "y", "z"), ("x",), ("w",))


def test_a_circle_names_path_facts_and_place() -> None:
    nodes = {
        "first": (frozenset({"hours"}), frozenset({"class"})),
        "second": (frozenset({"class"}), frozenset({"hours"})),
        "behind": (frozenset({"class"}), frozenset({"other"})),
    }
    with pytest.raises(RulebookError) as caught:
        topological_levels(nodes, {"first": Place("x.yaml", 3, 1)})
    assert str(caught.value) == (
        "x.yaml:3:1: these producers wait for each other: first (sets class) -> second (sets hours) -> first\n"
        "  fix: let one of them read a fact that is resolved earlier, or split the fact in two"
    )


def test_a_producer_that_reads_what_it_writes_waits_for_itself() -> None:
    with pytest.raises(RulebookError, match=r"self \(sets a\) -> self"):
        topological_levels({"self": (frozenset("a"), frozenset("a"))})


CONTESTED = """
- id: general
  title: General
  stage: derive
  when: [training]
  then: {set: {size_class: small}}
  because: It matters.
- id: special
  title: Special
  stage: derive
  when: [num_models > 1]
  then: {set: {run_hours: 3}}
  because: It matters.
  overrides: [general]
- id: models
  title: Models
  stage: derive
  when: [training]
  then: {set: {num_models: 2}}
  because: It matters.
- id: reader
  title: Reader
  stage: derive
  when: [size_class == small]
  then: {set: {cuda_required: yes}}
  because: It matters.
"""


def test_contending_rules_share_a_level_and_readers_wait_for_all_of_them(load: Callable[[str], Rulebook]) -> None:
    rules = load(CONTESTED).rules
    assert [[rule.id for rule in level] for level in levels(rules)] == [["models"], ["general", "special"], ["reader"]]
    shared = (frozenset({"num_models", "training"}), frozenset({"run_hours", "size_class"}))
    assert rule_nodes(rules)["special"] == rule_nodes(rules)["general"] == shared


def test_rules_that_set_one_fact_share_a_level(load: Callable[[str], Rulebook]) -> None:
    rules = load(
        CONTESTED.replace("overrides: [general]", "status: stable").replace("run_hours: 3", "size_class: large")
    ).rules
    assert [[rule.id for rule in level] for level in levels(rules)] == [["models"], ["general", "special"], ["reader"]]


def test_contenders_of_which_one_needs_the_other_are_refused(load: Callable[[str], Rulebook]) -> None:
    with pytest.raises(RulebookError) as caught:
        load(CONTESTED.replace("run_hours: 3}}", "run_hours: 3, cuda_required: no}}"))
    (problem,) = caught.value.problems
    assert problem.code == "tangled-rules"
    assert problem.message.startswith("reader reads `size_class`, which general sets, and the two contend")
    assert str(problem.place) == "rules.yaml:21:7"


def test_a_reader_waits_for_all_rows_of_a_first_table(load: Callable[[str], Rulebook]) -> None:
    book = load("""
    - table: sizes
      title: Sizes
      stage: derive
      hit: first
      columns: [param_count_b]
      because: It matters.
      rows:
        - {id: low, if: ['< 7'], then: {set: {size_class: small}}}
        - {id: high, if: [-], then: {set: {run_hours: 3}}}
    """)
    nodes = rule_nodes(book.rules)
    assert nodes["sizes/low"] == nodes["sizes/high"] == ({"param_count_b"}, {"size_class", "run_hours"})
