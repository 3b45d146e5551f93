from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.inference.driver import durable_available
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Const, Expr, FactRef, Has, Known, Member, Not, Or
from whichgpu.engine.rules.rulebook.model import Condition, Rule

from . import oracle as oracle_module


NUMBERS = [
    *(
        0,
        1,
        -1,
        2,
        3,
        8,
        24,
        80,
        80.0,
        79.99999999999999,
        80.00000000000001,
        0.1,
        0.3,
        0.1 + 0.2,
        1e-05,
        5e-324,
        1e16,
        1e22,
        1.5e300,
    ),
    *(
        -0.0,
        -2.5,
        2**40,
        2**40 + 1,
        2**53,
        2**53 + 1,
        2**63,
        2**64 + 1,
        -(2**70),
        1234.5678,
        float("inf"),
        -float("inf"),
    ),
]
COMMON_NUMBERS = [0, 1, 2, 3, 8, 24, 80, 80.0, 0.1, 1e-05, 1e16, -2.5, 1234.5678]
WORDS = [
    "",
    "80",
    "1",
    "true",
    "null",
    "1e5",
    "a b",
    'say "x"',
    "ünï",
    "=x",
    "x3d",
    "back\\slash",
    "{",
    "a,b",
    "nvidia-t4",
    "q4_k_m",
    "w" * 300,
]
COMMON_WORDS = ["80", "nvidia-t4", "q4_k_m", "pcie", "none"]
FACTORS = [2, 0.5, 1.2, -1, 0, 1.0, 4096, 4097, 1e-3, 3]


def make_rule(rule_id: str, *exprs: Expr) -> Rule:
    conditions = tuple(Condition(expr, f"line {number}") for number, expr in enumerate(exprs))
    return Rule(rule_id, rule_id, "prefer", "plan", conditions, (), "", "because", ("source",))


class Generator:
    """Random rules and facts over a small typed vocabulary, with a count of what it made."""

    def __init__(self, dice: random.Random, *, odd: float = 0.1, facts: int = 6) -> None:
        self.dice = dice
        self.odd = odd  # share of values that the C engine cannot hold
        self.facts = facts
        self.made: Counter[str] = Counter()

    def number(self) -> Value:
        return self.dice.choice(NUMBERS if self.dice.random() < self.odd else COMMON_NUMBERS)

    def word(self) -> str:
        return self.dice.choice(WORDS if self.dice.random() < self.odd else COMMON_WORDS)

    def fact(self, sort: str) -> FactRef:
        scope = self.dice.choice(["", "plan.", "gpu."])
        return FactRef(f"{scope}{sort}{self.dice.randrange(self.facts)}")

    def arithmetic(self, depth: int = 0) -> Expr:
        roll = self.dice.random()
        if roll < 0.45 or depth > 2:
            return self.fact("n")
        if roll < 0.6:
            return Const(self.dice.choice(COMMON_NUMBERS))
        self.made["arithmetic"] += 1
        operator = self.dice.choice(["+", "-", "*", "/"])
        return Arith(operator, self.arithmetic(depth + 1), self.arithmetic(depth + 1))

    def scaled(self) -> Expr:
        fact, factor = self.fact("n"), Const(self.dice.choice(FACTORS))
        return Arith("*", fact, factor) if self.dice.random() < 0.7 else Arith("*", factor, fact)

    def comparison(self) -> Expr:
        operator = self.dice.choice(["==", "!=", "<", "<=", ">", ">="])
        form = self.dice.choice(
            ["constant", "constant", "mirrored", "facts", "factor", "arithmetic", "words", "word facts", "bool"]
        )
        self.made[form] += 1
        match form:
            case "constant":
                return Compare(operator, self.fact("n"), Const(self.number()))
            case "mirrored":
                return Compare(operator, Const(self.number()), self.fact("n"))
            case "facts":
                return Compare(operator, self.fact("n"), self.fact("n"))
            case "factor":
                pair = [self.fact("n"), self.scaled()]
                self.dice.shuffle(pair)
                return Compare(operator, *pair)
            case "arithmetic":
                return Compare(operator, self.arithmetic(), self.arithmetic())
            case "words":
                return Compare(self.dice.choice(["==", "!="]), self.fact("w"), Const(self.word()))
            case "word facts":
                return Compare(self.dice.choice(["==", "!="]), self.fact("w"), self.fact("w"))
            case _:
                return Compare(self.dice.choice(["==", "!="]), self.fact("b"), Const(self.dice.random() < 0.5))

    def condition(self, depth: int = 0) -> Expr:
        forms = ["compare"] * 6 + ["in", "in", "bare", "has", "known"] + (["or", "and", "not"] if depth < 2 else [])
        form = self.dice.choice(forms)
        self.made[form] += 1
        match form:
            case "compare":
                return self.comparison()
            case "in":
                draw, sort = self.dice.choice([(self.word, "w"), (self.number, "n")])
                choices = tuple(draw() for _ in range(self.dice.randint(1, 5)))
                return Member(self.fact(sort), choices, self.dice.random() < 0.4)
            case "bare":
                return self.fact("b")
            case "has":
                return Has(self.fact("l"), self.word())
            case "known":
                return Known(self.fact(self.dice.choice("nwb")), self.dice.random() < 0.5)
            case "or":
                return Or(tuple(self.condition(depth + 1) for _ in range(self.dice.randint(2, 3))))
            case "and":
                return And(tuple(self.condition(depth + 1) for _ in range(self.dice.randint(2, 3))))
            case _:
                return Not(self.condition(depth + 1))

    def rule(self, number: int, longest: int = 4) -> Rule:
        return make_rule(f"rule-{number}", *(self.condition() for _ in range(self.dice.randint(0, longest))))

    def rules(self, count: int, longest: int = 4) -> list[Rule]:
        return [self.rule(number, longest) for number in range(count)]

    def values(self, scopes: tuple[str, ...], missing: float) -> dict[str, Value]:
        made: dict[str, Value] = {}
        for scope in scopes:
            for number in range(self.facts):
                drawn: dict[str, Value] = {
                    "n": self.number(),
                    "w": self.word(),
                    "b": self.dice.random() < 0.5,
                    "l": tuple(self.word() for _ in range(self.dice.randrange(4))),
                }
                for sort, value in drawn.items():
                    if self.dice.random() < missing:
                        self.made["missing"] += 1
                    else:
                        self.made["known value"] += 1
                        made[f"{scope}{sort}{number}"] = value
        return made


@pytest.fixture(scope="session")
def generator() -> type[Generator]:
    return Generator


@pytest.fixture(scope="session")
def rule_of():
    return make_rule


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """What rules come to, judged as plainly as can be."""
    return oracle_module


@pytest.fixture
def durable() -> None:
    """The test drives durable-rules; skipped where it cannot be had."""
    if not durable_available():
        pytest.skip("durable-rules is not available")


@pytest.fixture(scope="session")
def flat_memory():
    """A context manager that fails if the process grew by more than so many kB."""

    @contextmanager
    def watch(limit_kb: int) -> Iterator[None]:
        before = _resident_kb()
        yield
        grown = _resident_kb() - before
        assert grown <= limit_kb, f"grew by {grown} kB"

    return watch


def _resident_kb() -> int:
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
