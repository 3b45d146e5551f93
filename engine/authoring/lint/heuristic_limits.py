"""What the reading aid of a heuristic holds facts against, and whether a rule can fire where it speaks.

The aid is a loose notation (``training and num_gpus > 16 -> link_required = 'infiniband'``): comparisons, memberships
and yes-or-no facts are read, and all else is left alone.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from whichgpu.engine.rules import Compare, Const, Expr, FactRef, Known, Member, Not, Or, Rule, conjuncts


class StatedLimit(Struct, frozen=True):
    """A fact and what a heuristic says of it; ``given``: as the case that it speaks of, not as what follows."""

    fact: str
    op: str
    values: tuple[str, ...]
    given: bool


class StatedCall(Struct, frozen=True):
    """What a heuristic concludes: ``prefer`` of cards, ``warn`` and ``advise`` of codes, ``ask`` of facts."""

    verb: str
    objects: tuple[str, ...]


_VERBS = frozenset({"prefer", "consider", "eliminate", "warn", "advise", "ask"})
_CONCLUDED = re.compile(r"\b(?P<verb>[a-z]+)\((?P<objects>[^()]*)\)")


def stated_calls(expr: str) -> tuple[StatedCall, ...]:
    """What a reading aid concludes."""
    found = (match for match in _CONCLUDED.finditer(expr) if match["verb"] in _VERBS)
    return tuple(StatedCall(match["verb"], tuple(re.split(r"[\s,]+", match["objects"].strip()))) for match in found)


_COMPARED = re.compile(
    r"(?P<fact>[a-z][a-z_.0-9]*)\s*(?P<op>==|!=|<=|>=|<|>|=|\bnot in\b|\bin\b)\s*"
    r"(?P<values>\[[^\]]*\]|\{[^}]*\}|'[^']*'|[\w.\-]+)"
)
_CALL = re.compile(r"\b\w+\([^)]*\)")
_BARE = re.compile(r"(?P<no>\bnot )?\b(?P<fact>[a-z][a-z_0-9]*)\b")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e\d+)?")
_WORDS = frozenset({"and", "or", "not", "in", "is", "none", "known", "unknown", "if", "then", "with"})


def stated_limits(expr: str) -> tuple[StatedLimit, ...]:
    """What a reading aid says of facts."""
    case, _, conclusion = expr.partition("->")
    return (*_limits(case, given=True), *_limits(conclusion, given=False))


def _limits(part: str, *, given: bool) -> Iterator[StatedLimit]:
    for match in _COMPARED.finditer(part):
        values = tuple(value.strip(" '\"") for value in match["values"].strip("[]{}").split(","))
        yield StatedLimit(match["fact"], match["op"], values, given)
    for match in _BARE.finditer(_CALL.sub(" ", _COMPARED.sub(" ", part))):
        if match["fact"] not in _WORDS:
            yield StatedLimit(match["fact"], "==", ("false" if match["no"] else "true",), given)


class Words(Struct, frozen=True):
    """A line lets a fact be one of these."""

    words: frozenset[str]

    def meets(self, limit: StatedLimit) -> bool:
        """Whether what is stated leaves one of them."""
        return limit.op not in ("==", "=", "in") or not self.words.isdisjoint(limit.values)


class Range(Struct, frozen=True):
    """A line lets a fact lie in this range; an end that is ``open`` does not belong to it."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def meets(self, limit: StatedLimit) -> bool:
        """Whether what is stated leaves a part of it."""
        numbers = [float(value) for value in limit.values if _NUMBER.fullmatch(value)]
        if not numbers:
            return True
        number = numbers[0]
        match limit.op:
            case "<" | "<=":
                return self.low < number or (self.low == number and not self.low_open and limit.op == "<=")
            case ">" | ">=":
                return self.high > number or (self.high == number and not self.high_open and limit.op == ">=")
            case "==" | "=" | "in":
                return any(self.low <= each <= self.high for each in numbers)
        return True


_RANGES = {
    "<": lambda number: Range(high=number, high_open=True),
    "<=": lambda number: Range(high=number),
    ">": lambda number: Range(low=number, low_open=True),
    ">=": lambda number: Range(low=number),
    "==": lambda number: Range(number, number),
}


def allowed(rule: Rule) -> Mapping[str, Sequence[Words | Range]]:
    """What the lines of a rule let facts be, as far as each speaks of one fact."""
    found = defaultdict[str, list[Words | Range]](list)
    for condition in rule.when:
        for part in conjuncts(condition.expr):
            if (line := _line(part)) is not None:
                found[line[0]].append(line[1])
    return found


def _line(expr: Expr) -> tuple[str, Words | Range] | None:
    match expr:
        case FactRef(name) | Not(FactRef(name)):
            return name, Words(frozenset({"true" if isinstance(expr, FactRef) else "false"}))
        case Compare("==", FactRef(name), Const(str() | bool() as value)):
            return name, Words(frozenset({str(value).lower() if isinstance(value, bool) else value}))
        case Compare(op, FactRef(name), Const(value)) if op in _RANGES and not isinstance(value, str | bool):
            return name, _RANGES[op](float(value))
        case Member(FactRef(name), choices, False) if all(isinstance(choice, str) for choice in choices):
            return name, Words(frozenset(map(str, choices)))
        case Or(operands):  # `... if known` is two of them.
            rest = [operand for operand in operands if not (isinstance(operand, Known) and operand.negated)]
            return _line(rest[0]) if len(rest) == 1 < len(operands) else None
    return None


def never_met(rule: Rule, limits: Iterable[StatedLimit]) -> Iterator[tuple[str, Sequence[StatedLimit]]]:
    """Facts that the rule reads and of which its heuristics speak, but never where the rule fires."""
    by_fact = defaultdict[str, list[StatedLimit]](list)
    for limit in limits:
        by_fact[limit.fact].append(limit)
    for fact, lines in allowed(rule).items():
        stated = by_fact.get(fact, ())
        if any(limit.given for limit in stated) and not any(
            all(line.meets(limit) for line in lines) for limit in stated
        ):
            yield fact, stated
