"""A rule's ``when`` as one flat conjunction, each part once, split by the scope of what it reads."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from whichgpu.engine.rules.language import conjuncts
from whichgpu.engine.rules.language import facts_read
from whichgpu.engine.rules.language import to_nnf
from whichgpu.engine.rules.language.tree import And
from whichgpu.engine.rules.language.tree import Arith
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Has
from whichgpu.engine.rules.language.tree import Known
from whichgpu.engine.rules.language.tree import Member
from whichgpu.engine.rules.language.tree import Not
from whichgpu.engine.rules.language.tree import Or
from whichgpu.engine.rules.rulebook.model import Rule


#: A rule with more parts than this is one condition to the engine, whose facts hold about 250 values.
MAX_PARTS = 100


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One part of a conjunction. ``local`` parts read a plan's or GPU's facts, the others what all sets share."""

    expr: Expr
    reads: frozenset[str]
    local: bool


def is_local(fact: str) -> bool:
    """Whether the fact belongs to one plan, GPU or candidate: these names, and only these, have a dot."""
    return "." in fact


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """All rules' conjunctions over one shared list of distinct parts."""

    parts: tuple[Conjunct, ...]
    of_rule: dict[str, tuple[int, ...]]  # rule id -> indexes into parts, common parts first


def flatten(rules: tuple[Rule, ...]) -> Conjunctions:
    """Bring every ``when`` to negation normal form and number the distinct parts."""
    parts: list[Conjunct] = []
    numbers: dict[Hashable, int] = {}
    of_rule: dict[str, tuple[int, ...]] = {}
    for rule in rules:
        exprs = [expr for condition in rule.when for expr in conjuncts(to_nnf(condition.expr))]
        if len(exprs) > MAX_PARTS:
            exprs = [And(tuple(exprs))]
        indexes: dict[int, None] = {}
        for expr in exprs:
            key = identity(expr)
            index = numbers.get(key)
            if index is None:
                index = numbers[key] = len(parts)
                reads = frozenset(facts_read(expr))
                parts.append(Conjunct(expr, reads, any(map(is_local, reads))))
            indexes[index] = None
        of_rule[rule.id] = tuple(sorted(indexes, key=lambda index: (parts[index].local, index)))
    return Conjunctions(tuple(parts), of_rule)


def identity(expr: Expr) -> Hashable:
    """What makes two expressions the same. Plain equality would take ``1``, ``1.0`` and ``true`` for one constant."""
    key: Hashable
    match expr:
        case Const(value):
            key = (type(value), value)
        case FactRef(name):
            key = name
        case Arith(op, left, right) | Compare(op, left, right):
            key = (op, identity(left), identity(right))
        case Member(left, choices, negated):
            key = ("in", identity(left), tuple((type(choice), choice) for choice in choices), negated)
        case Has(fact, item):
            key = ("has", fact.name, type(item), item)
        case Known(fact, negated):
            key = ("known", fact.name, negated)
        case Not(operand):
            key = ("not", identity(operand))
        case And(operands):
            key = ("and", *map(identity, operands))
        case Or(operands):
            key = ("or", *map(identity, operands))
    return key
