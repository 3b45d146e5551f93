from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.facts import FactDef, Vocabulary
from whichgpu.engine.rules.language import compile_expr, conjuncts, evaluate, facts_read, parse_condition, to_nnf, words
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Const, Expr, FactRef, Has, Known, Member, Not, Or

from ..inference.oracle import walked


A, B = FactRef("training"), FactRef("cuda")


def test_kleene_tables():
    cases = [True, False, None]
    for left, right in itertools.product(cases, cases):
        facts: dict[str, Value] = {
            name: value for name, value in (("training", left), ("cuda", right)) if value is not None
        }
        both = False if False in (left, right) else None if None in (left, right) else True
        either = True if True in (left, right) else None if None in (left, right) else False
        assert evaluate(And((A, B)), facts) is both
        assert evaluate(Or((A, B)), facts) is either
        assert evaluate(Not(A), facts) is (None if left is None else not left)


@pytest.mark.parametrize(
    ("text", "facts", "value"),
    [
        ("count_a > 8", {"count_a": 16}, True),
        ("count_a > 8", {"count_a": 8}, False),
        ("count_a > 8", {}, None),
        ("count_a < 8", {"count_a": 3}, True),
        ("count_a <= 8", {"count_a": 8}, True),
        ("count_a >= 8", {"count_a": 7}, False),
        ("8 < count_a", {"count_a": 16}, True),
        ("task == inference", {"task": "inference"}, True),
        ("task != inference", {"task": "inference"}, False),
        ("task in [inference]", {"task": "pretraining"}, False),
        ("task not in [inference]", {"task": "pretraining"}, True),
        ("task not in [inference]", {}, None),
        ("gpu_candidates has x", {"gpu_candidates": ("x", "y")}, True),
        ("gpu_candidates has x", {"gpu_candidates": ()}, False),
        ("gpu_candidates has x", {}, None),
        ("task is known", {}, False),
        ("task is unknown", {}, True),
        ("task is known", {"task": "inference"}, True),
        ("need_gb * 1.2 <= have_gb - 2 GB", {"need_gb": 10.0, "have_gb": 14.0}, True),
        ("need_gb * 1.2 <= have_gb - 2 GB", {"need_gb": 10.0}, None),
        ("need_gb / ratio + 1 > 1", {"need_gb": 10.0, "ratio": 0}, None),
        ("need_gb / ratio > 1", {"need_gb": 10.0, "ratio": 2}, True),
        ("need_gb * ratio > 1", {"need_gb": 1e308, "ratio": 1e308}, None),
        ("need_gb * ratio > 1", {"need_gb": 1.5, "ratio": 10**400}, None),
        ("count_a > 8 or need_gb > 1", {"need_gb": 2.0}, True),
        ("count_a > 8 and need_gb > 1", {"need_gb": 0.5}, False),
        ("not (count_a > 8 and need_gb > 1)", {"need_gb": 2.0}, None),
    ],
)
def test_conditions_hold_fail_or_stay_open(vocabulary: Vocabulary, text: str, facts: dict[str, Value], value: object):
    tree = parse_condition(text, vocabulary)
    assert evaluate(tree, facts) is value
    assert compile_expr(tree)(facts) is value


NUMBERS = st.recursive(
    st.sampled_from(["count_a", "need_gb", "ratio"]).map(FactRef)
    | st.builds(Const, st.integers(-9, 9) | st.floats(-9, 9)),
    lambda inner: st.builds(Arith, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
    max_leaves=4,
)
LEAVES = (
    st.sampled_from([A, B])
    | st.builds(Compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), NUMBERS, NUMBERS)
    | st.builds(
        Compare,
        st.sampled_from(["==", "!="]),
        st.just(FactRef("task")),
        st.sampled_from([Const("inference"), Const("pretraining"), FactRef("next_task")]),
    )
    | st.builds(
        Member,
        st.just(FactRef("task")),
        st.lists(st.sampled_from(["inference", "pretraining"]), min_size=1, max_size=2, unique=True).map(tuple),
        st.booleans(),
    )
    | st.builds(Member, st.just(FactRef("count_a")), st.just((1, 2, 3)), st.booleans())
    | st.builds(Has, st.just(FactRef("gpu_candidates")), st.sampled_from(["x", "y"]))
    | st.builds(Known, st.sampled_from(["task", "count_a", "training"]).map(FactRef), st.booleans())
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple))
    ),
    max_leaves=10,
)
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "training": st.booleans(),
        "cuda": st.booleans(),
        "count_a": st.integers(0, 9),
        "need_gb": st.floats(0, 1e308, allow_nan=False),
        "ratio": st.floats(-9, 9) | st.integers(-9, 9),
        "task": st.sampled_from(["inference", "pretraining", "full_finetuning"]),
        "next_task": st.sampled_from(["inference", "none"]),
        "gpu_candidates": st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True).map(tuple),
    },
)


@given(CONDITIONS, FACTS)
def test_closures_agree_with_the_reference(tree: Expr, facts: dict[str, Value]):
    assert compile_expr(tree)(facts) == walked(tree, facts)


@given(NUMBERS, FACTS)
def test_calculations_agree_with_the_reference(tree: Expr, facts: dict[str, Value]):
    assert compile_expr(tree)(facts) == walked(tree, facts)


@given(CONDITIONS, FACTS)
def test_normal_form_keeps_all_three_values(tree: Expr, facts: dict[str, Value]):
    normal = to_nnf(tree)
    assert evaluate(normal, facts) is evaluate(tree, facts)
    assert facts_read(normal) == facts_read(tree)
    assert all(isinstance(inner.operand, (FactRef, Has)) for inner in _parts(normal) if isinstance(inner, Not))


def _parts(tree: Expr) -> list[Expr]:
    if isinstance(tree, (And, Or)):
        return [tree, *(part for operand in tree.operands for part in _parts(operand))]
    return [tree, *_parts(tree.operand)] if isinstance(tree, Not) else [tree]


@given(CONDITIONS, FACTS)
def test_conjuncts_mean_the_whole(tree: Expr, facts: dict[str, Value]):
    parts = conjuncts(tree)
    assert not any(isinstance(part, And) for part in parts)
    assert evaluate(And(parts), facts) is evaluate(tree, facts)


@given(CONDITIONS, FACTS)
def test_only_facts_read_matter(tree: Expr, facts: dict[str, Value]):
    reads = facts_read(tree)
    kept = {name: value for name, value in facts.items() if name in reads}
    assert evaluate(tree, kept) is evaluate(tree, facts)


@given(CONDITIONS, FACTS)
def test_more_knowledge_never_turns_an_answer_round(tree: Expr, facts: dict[str, Value]):
    """An answer that stands without a fact still stands with it, unless the rule asks whether it is known."""
    if any(isinstance(part, Known) for part in _parts(tree)):
        return
    for name in facts:
        less = {key: value for key, value in facts.items() if key != name}
        before = evaluate(tree, less)
        assert before is None or evaluate(tree, facts) is before


@given(CONDITIONS, FACTS)
def test_any_condition_can_be_said(tree: Expr, facts: dict[str, Value]):
    vocabulary = Vocabulary({"count_a": FactDef(name="count_a", type="int")})
    assert words(tree, vocabulary)
    assert len(words(tree, vocabulary, facts)) >= len(words(tree, vocabulary))
