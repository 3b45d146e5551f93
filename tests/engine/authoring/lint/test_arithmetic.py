"""Arithmetic in conditions is decided as z3 decides it, and every example holds when it is worked out."""

from __future__ import annotations

import os
import random
from fractions import Fraction

import pytest

from whichgpu.engine.authoring.lint.regions import Case, Regions
from whichgpu.engine.core.values import Value
from whichgpu.engine.rules import (
    And,
    Arith,
    Compare,
    Const,
    Expr,
    FactDef,
    FactRef,
    Or,
    Vocabulary,
    constants,
    evaluate,
)
from whichgpu.engine.rules.language.parsing import parse_condition
from whichgpu.engine.rules.rulebook.model import Rulebook


z3 = pytest.importorskip("z3")

FACTS = (
    FactDef(name="cards", type="int", min=1, max=64),
    FactDef(name="nodes", type="int", min=1),
    FactDef(name="price", type="number", min=0),
    FactDef(name="budget", type="number", min=0, max=1000, exclusive_min=True),
    FactDef(name="change", type="number"),
    FactDef(name="site", type="text"),
)
VOCABULARY = Vocabulary({fact.name: fact for fact in FACTS})
NAMES = [fact.name for fact in FACTS if fact.numeric]
OPS = ("==", "!=", "<", "<=", ">", ">=")
#: How many pairs of conditions are compared.
PAIRS = {"quick": 40, "ci": 120, "thorough": 10_000}[os.environ.get("HYPOTHESIS_PROFILE", "ci")]


def sums(chance: random.Random, depth: int) -> Expr:
    """A sum, difference or multiple of facts."""
    if depth == 0 or chance.random() < 0.3:
        return FactRef(chance.choice(NAMES)) if chance.random() < 0.8 else Const(chance.choice((1, 2, 7, 40, 0.5)))
    op = chance.choice("+-*/")
    if op in "*/":
        return Arith(op, sums(chance, depth - 1), Const(chance.choice((2, 3, 4, 0.25, 1.5))))  # type: ignore[arg-type]
    return Arith(op, sums(chance, depth - 1), sums(chance, depth - 1))  # type: ignore[arg-type]


def condition(chance: random.Random, depth: int) -> Expr:
    """Comparisons of sums, joined by and and or."""
    if depth and chance.random() < 0.5:
        parts = tuple(condition(chance, depth - 1) for _ in range(2))
        return And(parts) if chance.random() < 0.7 else Or(parts)
    op = chance.choice(OPS)
    if chance.random() < 0.3:
        return Compare(op, FactRef(chance.choice(NAMES)), Const(chance.choice((1, 2, 8, 64, 100, 0.5))))  # type: ignore[arg-type]
    return Compare(op, sums(chance, 2), sums(chance, 1))  # type: ignore[arg-type]


def in_z3(expr: Expr, known: dict[str, object]) -> object:
    """The same for z3."""
    match expr:
        case Const(value):
            return z3.RealVal(str(Fraction(value)))
        case FactRef(name):
            return known[name]
        case Arith(op, left, right) | Compare(op, left, right):
            return OPERATIONS[op](in_z3(left, known), in_z3(right, known))
        case And(operands):
            return z3.And([in_z3(part, known) for part in operands])
        case Or(operands):
            return z3.Or([in_z3(part, known) for part in operands])
    raise AssertionError(expr)


OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def holds_in_z3(*conditions: Expr) -> bool:
    """Whether values of the facts meet all conditions; each fact is known, as conditions that are true need them."""
    solver, known = z3.Solver(), {}
    for fact in FACTS:
        if fact.numeric:
            value = z3.Int(fact.name) if fact.type == "int" else z3.Real(fact.name)
            known[fact.name] = z3.ToReal(value) if fact.type == "int" else value
            if fact.min is not None:
                solver.add(known[fact.name] > fact.min if fact.exclusive_min else known[fact.name] >= fact.min)
            if fact.max is not None:
                solver.add(known[fact.name] <= fact.max)
    solver.add(*(in_z3(each, known) for each in conditions))
    found = solver.check()
    assert found != z3.unknown
    return bool(found == z3.sat)


def regions_of(*conditions: Expr) -> Regions:
    named = [pair for each in conditions for pair in constants(each)]
    return Regions(Rulebook((), (), "", ()), VOCABULARY, (), named)


def test_pairs_of_conditions_meet_where_z3_says_so() -> None:
    chance, undecided, rounded = random.Random(17), 0, 0
    for _ in range(PAIRS):
        pair = (condition(chance, 2), condition(chance, 2))
        regions = regions_of(*pair)
        formulas = [regions.true(each) for each in pair]
        case, never = regions.find(*formulas), regions.never(*formulas)
        if case is None and not never:
            undecided += 1
            continue
        assert never is not holds_in_z3(*pair), pair
        if case is not None and case.certain:
            assert all(evaluate(each, case.example) is True for each in pair), (pair, case)  # type: ignore[arg-type]
        rounded += case is not None and not case.certain
    assert undecided + rounded <= 3 + PAIRS / 100  # By a number that no float is.


def found(*texts: str) -> Case | None:
    conditions = [parse_condition(text, VOCABULARY) for text in texts]
    regions = regions_of(*conditions)
    return regions.find(*(regions.true(each) for each in conditions))


NEVER = [
    ("price > budget", "budget > price * 2"),
    ("price + 10 < budget", "price > 995"),
    ("cards + nodes == 3", "cards == nodes"),
    ("cards * 8 < nodes", "nodes * 2 <= cards"),
    ("price / budget > 2", "price <= budget"),
    ("price * change > 4", "price * change < 3"),
]


@pytest.mark.parametrize("texts", NEVER, ids=" and ".join)
def test_what_cannot_hold_together_is_proved(texts: tuple[str, str]) -> None:
    conditions = [parse_condition(text, VOCABULARY) for text in texts]
    regions = regions_of(*conditions)
    assert regions.never(*(regions.true(each) for each in conditions))


EXAMPLES: list[tuple[tuple[str, ...], dict[str, Value]]] = [
    (("price * 1.3 > budget", "price <= budget", "budget >= 100"), {"budget": 100, "price": 88.5}),
    (("cards == 2 * nodes", "nodes > 3"), {"cards": 8, "nodes": 4}),
    (("price - budget > 20", "budget > 7"), {"budget": 8, "price": 29}),
]


@pytest.mark.parametrize(("texts", "example"), EXAMPLES, ids=str)
def test_examples_read_well(texts: tuple[str, ...], example: dict[str, Value]) -> None:
    case = found(*texts)
    assert case is not None
    assert case.certain
    assert set(case.example) == set(example)
    assert all(evaluate(parse_condition(text, VOCABULARY), case.example) is True for text in texts)  # type: ignore[arg-type]


def test_a_product_of_facts_stays_possible() -> None:
    case = found("price * change > 4")
    assert case is not None
    assert not case.certain
