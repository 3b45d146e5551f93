"""Which parts of a conjunction the C engine can test itself, and the rest as condition fields.

Native are comparisons of one fact with a constant, of two facts, of a fact with another times a constant, membership
in a list of constants, and bare truth values. Everything else the generated evaluator computes beforehand. Arithmetic
is never rearranged: ``a / b > c`` is not ``a > b * c`` once rounding or a sign comes in.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from whichgpu.engine.core import Scalar
from whichgpu.engine.rules.inference.encode import MAX_FACTOR, Kind, Unencodable, encode, kind_of
from whichgpu.engine.rules.inference.parts import Part
from whichgpu.engine.rules.language.tree import MIRRORED, Arith, Compare, CompareOp, Const, Expr, FactRef, Member, Not


#: More choices than this in one list become a condition field: each is a test under the same parent, which holds 511.
MAX_CHOICES = 48

_ENGINE_OP: dict[CompareOp, str] = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}


class AgainstConstant(Struct, frozen=True, tag=True, array_like=True):
    """``fact op constant``; the constant as JSON text."""

    fact: str
    op: CompareOp
    constant: str
    kind: Kind


class InList(Struct, frozen=True, tag=True, array_like=True):
    """``fact in [constants]``, or ``not in``. At most one choice can be true, so the engine's ``$or`` fires once."""

    fact: str
    choices: tuple[str, ...]
    negated: bool
    kind: Kind


class TwoFacts(Struct, frozen=True, tag=True, array_like=True):
    """``left op right`` or ``left op right * factor``."""

    left: str
    op: CompareOp
    right: str
    factor: str | None
    kind: Kind


NativeTest = AgainstConstant | InList | TwoFacts


def native_tests(parts: Iterable[Part]) -> list[NativeTest | None]:
    """The native form of each part, or None where it must become a condition field.

    Each fact is taken to be of one kind, that of the first constant it is compared with.
    """
    listed = list(parts)
    kinds: dict[str, Kind] = {}
    tests: list[NativeTest | None] = []
    for part in listed:
        try:
            test = _test(part.expr)
        except Unencodable:
            test = None
        tests.append(test if test is not None and _agrees(test, kinds) else None)
    for index, part in enumerate(listed):
        if tests[index] is None:
            test = _equal_facts(part.expr, kinds)
            if test is not None and _agrees(test, kinds):
                tests[index] = test
    return tests


def facts_of(test: NativeTest) -> tuple[str, ...]:
    """The facts whose values the test needs."""
    return (test.left, test.right) if isinstance(test, TwoFacts) else (test.fact,)


def width_of(test: NativeTest | None) -> int:
    """How many tests it puts under one parent at most."""
    return len(test.choices) if isinstance(test, InList) and not test.negated else 1


def patterns(test: NativeTest, names: dict[str, str]) -> list[str]:
    """The test in the engine's JSON, as members of an ``$and``. A comparison with a missing fact does not match."""
    match test:
        case AgainstConstant(fact, op, constant):
            return [_compared(names[fact], op, constant)]
        case InList(fact, choices, negated):
            if negated:
                return [_compared(names[fact], "!=", choice) for choice in choices]
            return ['{"$or":[' + ",".join(_compared(names[fact], "==", choice) for choice in choices) + "]}"]
        case TwoFacts(left, op, right, factor):
            other = f'{{"$m":"{names[right]}"}}'
            if factor is not None:
                other = f'{{"$mul":{{"$l":{other},"$r":{factor}}}}}'
            # The engine reads garbage for a right side that is missing, hence the test for it first.
            return [f'{{"$ex":{{"{names[right]}":1}}}}', _compared(names[left], op, other)]


def _compared(name: str, op: CompareOp, right: str) -> str:
    if op == "==":
        return f'{{"{name}":{right}}}'
    return f'{{"{_ENGINE_OP[op]}":{{"{name}":{right}}}}}'


def _agrees(test: NativeTest, kinds: dict[str, Kind]) -> bool:
    """Note the kinds that the test implies; false if a fact is of another kind already."""
    facts = facts_of(test)
    if any(kinds.get(fact, test.kind) != test.kind for fact in facts):
        return False
    for fact in facts:
        kinds[fact] = test.kind
    return True


def _test(expr: Expr) -> NativeTest | None:
    test: NativeTest | None = None
    match expr:
        case FactRef(name):
            test = AgainstConstant(name, "==", "1", "bool")
        case Not(FactRef(name)):
            test = AgainstConstant(name, "==", "0", "bool")
        case Compare(op, FactRef(name), Const(value)):
            test = _against_constant(name, op, value)
        case Compare(op, Const(value), FactRef(name)):
            test = _against_constant(name, MIRRORED[op], value)
        case Member(FactRef(name), choices, negated):
            test = _in_list(name, choices, negated)
        case Compare(op, left, right):
            test = _two_facts(op, left, right)
    return test


def _against_constant(fact: str, op: CompareOp, value: Scalar) -> AgainstConstant | None:
    kind = kind_of(value)
    if kind is None or (kind != "number" and op not in ("==", "!=")):
        return None
    return AgainstConstant(fact, op, encode(value, kind), kind)


def _in_list(fact: str, choices: tuple[Scalar, ...], negated: bool) -> NativeTest | None:
    kinds = {kind_of(choice) for choice in choices}
    kind = kinds.pop() if kinds else None
    if kinds or kind is None or len(choices) > MAX_CHOICES:
        return None
    texts = tuple(encode(choice, kind) for choice in dict.fromkeys(choices))
    if len(texts) == 1:
        return AgainstConstant(fact, "!=" if negated else "==", texts[0], kind)
    return InList(fact, texts, negated, kind)


def _scaled(expr: Expr) -> tuple[str, str | None] | None:
    """A fact, or a fact times a constant: its name and the factor's text."""
    match expr:
        case FactRef(name):
            return name, None
        case Arith("*", FactRef(name), Const(value)) | Arith("*", Const(value), FactRef(name)):
            if kind_of(value) != "number" or (isinstance(value, int) and abs(value) > MAX_FACTOR):
                return None
            return name, encode(value, "number")
        case _:
            return None


def _two_facts(op: CompareOp, left: Expr, right: Expr) -> TwoFacts | None:
    """Facts compared as numbers. Equality of two plain facts waits until their kind is known."""
    one, other = _scaled(left), _scaled(right)
    if one is None or other is None or one[0] == other[0]:
        return None
    if one[1] is not None and other[1] is None:
        one, other, op = other, one, MIRRORED[op]
    if one[1] is not None or (other[1] is None and op in ("==", "!=")):
        return None
    return TwoFacts(one[0], op, other[0], other[1], "number")


def _equal_facts(expr: Expr, kinds: dict[str, Kind]) -> TwoFacts | None:
    match expr:
        case Compare(("==" | "!=") as op, FactRef(left), FactRef(right)) if left != right:
            kind = kinds.get(left) or kinds.get(right)
            return None if kind is None else TwoFacts(left, op, right, None, kind)
        case _:
            return None
