"""Ranges, classes and stand-ins of what a fact may be."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.rules.facts import FactDef, Vocabulary
from whichgpu.engine.rules.language import parse_condition
from whichgpu.engine.rules.language.domains import (
    ANY_OTHER,
    Domains,
    constants,
    constants_compared,
    drawn,
    inside,
    read_jointly,
    representatives,
    spread,
)


FACTS = {
    fact.name: fact
    for fact in (
        FactDef(name="size", type="number", min=0, exclusive_min=True, max=1000),
        FactDef(name="other", type="number", min=0),
        FactDef(name="steps", type="int", min=1, max=64),
        FactDef(name="flag", type="bool"),
        FactDef(name="kind", type="enum", choices=("a", "b", "c")),
        FactDef(name="parts", type="list", items="enum", choices=("x", "y")),
        FactDef(name="note", type="text"),
    )
}
VOCABULARY = Vocabulary(FACTS)
COMPARISONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}


def condition(text: str) -> Any:
    return parse_condition(text, VOCABULARY, None, "workload")


def test_constants_are_found_wherever_a_condition_names_them() -> None:
    expr = condition("size > 7 and (kind in [a, b] or not (70 >= size)) and size < other * 2 and flag")
    assert list(constants(expr)) == [("size", 7), ("kind", "a"), ("kind", "b"), ("size", 70)]
    assert constants_compared([expr, condition("size > 9")])["size"] == {7, 9, 70}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("size > 7 and flag and kind is unknown and not flag", set()),
        ("kind in [a, b] or 7 < size", set()),
        ("size > other and flag", {"size", "other"}),
        ("size * 2 > 7", {"size"}),
        ("parts has x", {"parts"}),
        ("not (steps > 3 and other < size)", {"size", "other"}),
    ],
)
def test_facts_are_tangled_that_are_read_otherwise_than_against_constants(text: str, names: set[str]) -> None:
    assert read_jointly(condition(text)) == names


def test_a_range_may_leave_its_lower_end_out() -> None:
    assert [inside(FACTS["size"], number) for number in (0, 1e-9, 1000, 1001)] == [False, True, True, False]
    assert inside(FACTS["other"], 0)
    assert inside(FACTS["other"], 1e30)


@given(
    st.sampled_from(["size", "steps", "other"]),
    st.lists(st.integers(1, 64), max_size=3),
    st.integers(1, 64),
    st.sampled_from(sorted(COMPARISONS)),
)
def test_every_value_of_a_class_meets_the_same_comparisons(name: str, named: list[int], value: int, op: str) -> None:
    classes = Domains([(name, limit) for limit in named], VOCABULARY).of(name)
    own = [1 << at for at, member in enumerate(classes.members) if member.low <= value <= member.high]
    mask = next((bit for bit in own if bit & classes.where("==", value)), own[0])
    for limit in named:
        assert bool(mask & classes.where(op, limit)) is COMPARISONS[op](value, limit)
        example = classes.example(mask)
        assert example is not None
        assert COMPARISONS[op](example, limit) is COMPARISONS[op](value, limit)


def test_what_is_no_number_has_a_class_for_each_value_and_one_for_being_unknown() -> None:
    domains = Domains([("note", "seen")], VOCABULARY)
    assert [domains.of(name).members for name in ("flag", "kind", "parts", "note")] == [
        (False, True),
        ("a", "b", "c"),
        ("a list",),
        ("seen", ANY_OTHER),
    ]
    kind = domains.of("kind")
    assert kind.full == 0b1111
    assert kind.among(["a", "c"]) == 0b0101
    assert kind.example(kind.unknown) is None


def test_a_number_is_stood_for_by_ends_constants_and_what_lies_between() -> None:
    values = representatives(FACTS["steps"], {8})
    assert values is not None
    assert {1, 7, 8, 9, 64} <= set(values)
    assert all(isinstance(value, int) for value in values)
    assert representatives(FACTS["note"], ()) is None
    far = representatives(FactDef(name="far", type="number", min=0, exclusive_min=True, max=5), {2, 9})
    assert far is not None
    assert min(far) > 0
    assert 2.0 in far


def test_values_are_thinned_evenly_with_both_ends() -> None:
    assert spread(range(10), 4) == (0, 3, 6, 9)
    assert spread([1, 2], 4) == (1, 2)


@pytest.mark.parametrize("name", ["size", "steps", "other", "flag", "kind"])
def test_what_is_drawn_lies_in_the_domain(name: str) -> None:
    chance, fact = random.Random(1), FACTS[name]
    for value in [drawn(fact, chance) for _ in range(50)]:
        if fact.numeric:
            assert isinstance(value, int | float)
            assert inside(fact, value)
        else:
            assert value in (fact.choices or (False, True))
    assert drawn(FACTS["note"], chance) is None
    assert drawn(FACTS["parts"], chance) in (["x"], ["y"])
