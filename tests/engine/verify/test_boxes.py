"""Boxes against brute force: what they prove has to hold on a grid of values."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from engine.language import evaluate
from engine.language.tree import And
from engine.language.tree import Arith
from engine.language.tree import Compare
from engine.language.tree import Const
from engine.language.tree import Expr
from engine.language.tree import FactRef
from engine.language.tree import Has
from engine.language.tree import Known
from engine.language.tree import Member
from engine.language.tree import Not
from engine.language.tree import Or
from engine.verify.boxes import Box
from engine.verify.boxes import Range
from engine.verify.boxes import boxes_of_exprs
from engine.vocabulary import Vocabulary


NUMBERS = [0.5, 1.0, 1.5, 2.0, 2.5]
GRID: dict[str, list[Any]] = {
    "param_count_b": [None, *NUMBERS],
    "run_hours": [None, 1.0, 2.0],
    "task": [None, "pretraining", "finetuning", "inference"],
    "training": [None, True, False],
    "wishes": [None, (), ("quiet",), ("quiet", "cheap")],
}
CASES = [
    {name: value for name, value in zip(GRID, values, strict=True) if value is not None}
    for values in itertools.product(*GRID.values())
]

compares = st.builds(
    Compare,
    st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    st.just(FactRef("param_count_b")),
    st.builds(Const, st.sampled_from([1.0, 1.5, 2.0])),
)
mirrored = st.builds(
    Compare,
    st.sampled_from(["==", "<", ">="]),
    st.builds(Const, st.sampled_from([1.0, 2.0])),
    st.just(FactRef("param_count_b")),
)
opaque = st.builds(
    Compare, st.sampled_from(["<", ">="]), st.just(FactRef("param_count_b")), st.just(FactRef("run_hours"))
)
sums = st.builds(
    Compare,
    st.sampled_from(["<", ">="]),
    st.just(Arith("+", FactRef("run_hours"), Const(1))),
    st.just(FactRef("param_count_b")),
)
members = st.builds(
    Member,
    st.just(FactRef("task")),
    st.sampled_from([("pretraining",), ("pretraining", "inference"), ("pretraining", "finetuning", "inference")]),
    st.booleans(),
)
leaves = st.one_of(
    compares,
    mirrored,
    opaque,
    sums,
    members,
    st.just(FactRef("training")),
    st.builds(Has, st.just(FactRef("wishes")), st.sampled_from(["quiet", "cheap"])),
    st.builds(Known, st.sampled_from([FactRef("task"), FactRef("param_count_b")]), st.booleans()),
    st.builds(Const, st.booleans()),
)
exprs: st.SearchStrategy[Expr] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


def inside(box: Box, facts: dict[str, Any]) -> bool:
    """Whether facts fit a box, by the definition."""
    return all(fits(span, facts.get(name)) for name, span in box.ranges.items())


def fits(span: Range, value: Any) -> bool:
    if not span.known or value is None:
        return not span.known and value is None and not span.empty
    if isinstance(value, tuple):
        return span.has <= set(value) and not span.lacks & set(value)
    return span.holds(value)


@given(exprs)
@settings(max_examples=200, deadline=None)
def test_whatever_holds_lies_in_a_box(vocabulary: Vocabulary, expr: Expr) -> None:
    boxes = boxes_of_exprs([expr], vocabulary)
    exact = all(box.exact for box in boxes)
    for facts in CASES:
        holds = evaluate(expr, facts) is True
        boxed = any(inside(box, facts) for box in boxes)
        assert boxed or not holds
        if exact:
            assert boxed == holds


@given(exprs, exprs)
@settings(max_examples=200, deadline=None)
def test_a_box_within_another_holds_nothing_else(vocabulary: Vocabulary, one: Expr, two: Expr) -> None:
    for narrow in boxes_of_exprs([one], vocabulary):
        for wide in boxes_of_exprs([two], vocabulary):
            if narrow.within(wide):
                assert all(inside(wide, facts) for facts in CASES if inside(narrow, facts))


def test_a_box_is_within_itself(vocabulary: Vocabulary) -> None:
    (box,) = boxes_of_exprs([Compare("<", FactRef("param_count_b"), Const(3.0)), FactRef("training")], vocabulary)
    assert box.within(box)


def test_too_many_alternatives_widen_the_box_instead_of_multiplying(vocabulary: Vocabulary) -> None:
    numbers = tuple(Compare("==", FactRef("param_count_b"), Const(float(n))) for n in range(1, 40))
    hours = tuple(Compare("==", FactRef("run_hours"), Const(float(n))) for n in range(1, 40))
    boxes = boxes_of_exprs([Or(numbers), Or(hours)], vocabulary)
    assert len(boxes) <= 128
    assert not any(box.exact for box in boxes)
    (whole,) = boxes_of_exprs([Or(tuple(numbers) * 4)], vocabulary)
    assert whole == Box(exact=False)
