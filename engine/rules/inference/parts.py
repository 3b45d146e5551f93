"""A level's conditions taken apart: each distinct part of a conjunction once, whoever asks for it.

A rule's ``when`` is one flat conjunction, split by the scope of what its parts read: *common* parts read only what all
plans share, *local* ones a plan's or a GPU's own facts.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from whichgpu.engine.rules.language import conjuncts, facts_read, to_nnf
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Expr, Member, is_local, leaves
from whichgpu.engine.rules.rulebook.model import Rule


#: A rule with more parts than this is one condition to the C engine, whose facts hold about 250 values.
MAX_PARTS = 100


class Part(Struct, frozen=True):
    """One part of a conjunction, in negation normal form."""

    expr: Expr
    reads: frozenset[str]
    local: bool
    computes: bool  # a number from others, which may be unknown where these are known


def dismissing_first(parts: Sequence[Part], uses: Mapping[int, int]) -> Callable[[int], tuple[bool, int, int]]:
    """Sorts numbers of parts: equalities first, which hold most rarely, and of these first what most rules have."""

    def key(number: int) -> tuple[bool, int, int]:
        expr = parts[number].expr
        return not (isinstance(expr, Compare) and expr.op == "=="), -uses[number], number

    return key


class Parts(Struct, frozen=True):
    """The distinct parts of all rules, and which of them each rule consists of."""

    parts: tuple[Part, ...]
    of_rule: Mapping[str, tuple[int, ...]]  # rule id -> numbers of its parts, common ones first
    split: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]  # rule id -> common parts, local parts
    of_condition: Mapping[str, tuple[tuple[int, ...], ...]]  # rule id -> for each line of ``when`` its parts


def _computes(leaf: Expr) -> bool:
    match leaf:
        case Compare(_, left, right):
            return isinstance(left, Arith) or isinstance(right, Arith)
        case Member(left):
            return isinstance(left, Arith)
    return False


def parts_of(rules: Mapping[str, Rule]) -> Parts:
    """Bring every ``when`` to negation normal form and number the distinct parts."""
    parts: list[Part] = []
    numbers: dict[str, int] = {}  # By the text of a part: equality takes ``1``, ``1.0`` and ``true`` for one constant.

    def number(expr: Expr) -> int:
        index = numbers.setdefault(repr(expr), len(parts))
        if index == len(parts):
            reads = facts_read(expr)
            parts.append(Part(expr, reads, any(map(is_local, reads)), any(map(_computes, leaves(expr)))))
        return index

    of_rule: dict[str, tuple[int, ...]] = {}
    split: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    of_condition: dict[str, tuple[tuple[int, ...], ...]] = {}
    for name, rule in rules.items():
        lines = tuple(tuple(map(number, conjuncts(to_nnf(condition.expr)))) for condition in rule.when)
        own = sorted({part for line in lines for part in line}, key=lambda part: (parts[part].local, part))
        if len(own) > MAX_PARTS:
            own = [number(And(tuple(parts[part].expr for part in own)))]
        of_rule[name], of_condition[name] = tuple(own), lines
        split[name] = (
            tuple(part for part in own if not parts[part].local),
            tuple(part for part in own if parts[part].local),
        )
    return Parts(tuple(parts), of_rule, split, of_condition)
