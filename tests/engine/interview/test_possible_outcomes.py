"""Whatever the open facts turn out to be, a condition takes a value that was said to be possible."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.interview.possible_outcomes import ALWAYS, ANY_TRUTH, NEVER, OpenFacts, truth_values_of
from whichgpu.engine.interview.rule_index import Line, line_of
from whichgpu.engine.rules.facts import FactDef, Vocabulary
from whichgpu.engine.rules.language import evaluate, parse_condition
from whichgpu.engine.rules.language.domains import constants_compared, representatives


FACTS = {
    "flag": FactDef(name="flag", type="bool"),
    "kind": FactDef(name="kind", type="enum", choices=("a", "b", "c")),
    "size": FactDef(name="size", type="number", min=0, max=1000),
    "other": FactDef(name="other", type="number", min=0, max=1000),
    "steps": FactDef(name="steps", type="int", min=1, max=64),
}
VOCABULARY = Vocabulary(FACTS)

ATOMS = [
    "flag",
    "not flag",
    "kind == a",
    "kind in [a, b]",
    "kind != c",
    "size > 10",
    "size <= 500",
    "size == 70",
    "steps >= 8",
    "steps < 4",
    "size is known",
    "kind is unknown",
    "size > other",
    "size + other > 30",
]
CONDITIONS = st.recursive(
    st.sampled_from(ATOMS).map(lambda text: f"({text})"),
    lambda inner: st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=5,
)
VALUES: dict[str, Any] = {
    "flag": st.booleans(),
    "kind": st.sampled_from("abc"),
    "size": st.floats(0, 1000) | st.sampled_from([10.0, 70.0, 500.0]),
    "other": st.floats(0, 1000),
    "steps": st.integers(1, 64),
}


def line(text: str) -> Line:
    return line_of(parse_condition(text, VOCABULARY, None, "workload"))


def open_facts_over(names: set[str], lines: list[Line]) -> OpenFacts:
    compared = constants_compared(line.expr for line in lines)
    open_facts = OpenFacts()
    for name in sorted(names):
        own = representatives(FACTS[name], compared.get(name, frozenset()))
        assert own is not None
        open_facts.add(name, (None, *own), {name})
    return open_facts


@given(st.lists(CONDITIONS, min_size=1, max_size=3), st.sets(st.sampled_from(sorted(FACTS))), st.data())
def test_every_completion_takes_a_possible_value(texts: list[str], hidden: set[str], data: st.DataObject) -> None:
    lines = [line(text) for text in texts]
    known = {name: data.draw(VALUES[name]) for name in sorted(FACTS.keys() - hidden) if data.draw(st.booleans())}
    possible = truth_values_of(lines, known, open_facts_over(hidden, lines))
    for _ in range(5):
        whole = known | {name: data.draw(VALUES[name]) for name in sorted(hidden) if data.draw(st.booleans())}
        values = [evaluate(each.expr, whole) for each in lines]
        truth = False if False in values else None if None in values else True
        assert truth in possible


@pytest.mark.parametrize(
    ("text", "facts", "hidden", "expected"),
    [
        ("flag or not flag", {}, {"flag"}, frozenset((True, None))),
        ("kind is unknown or kind != a", {}, {"kind"}, frozenset((True, False))),
        ("flag", {"flag": True}, set(), ALWAYS),
        ("flag and kind == a", {"flag": False}, {"kind"}, NEVER),
        ("size > 10 and size < 5", {}, {"size"}, frozenset((False, None))),
        ("size > other", {"other": 3.0}, {"size"}, ANY_TRUTH),
        ("steps > 64", {}, {"steps"}, frozenset((False, None))),
    ],
)
def test_it_is_no_wider_than_it_must_be(text: str, facts: Any, hidden: set[str], expected: frozenset[Any]) -> None:
    lines = [line(text)]
    assert truth_values_of(lines, facts, open_facts_over(hidden, lines)) == expected


def test_facts_that_may_be_anything_leave_all_open() -> None:
    open_facts = OpenFacts()
    open_facts.add("size", None, {"size"})
    assert truth_values_of([line("size > 10")], {}, open_facts) == ANY_TRUTH
    assert truth_values_of([line("size > 10 and flag")], {"flag": False}, open_facts) == NEVER
    assert truth_values_of([line("size > 10 or flag")], {"flag": True}, open_facts) == ALWAYS
