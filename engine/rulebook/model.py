"""What a rule is once loaded: frozen, typed, with its place in the file."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Literal

from engine.language.tree import Expr
from engine.problems import Place
from engine.values import Value


Stage = Literal["derive", "reject", "prefer", "advise"]
Each = Literal["workload", "plan", "chosen", "candidate"]
Status = Literal["draft", "stable", "deprecated"]
HitPolicy = Literal["first", "collect"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of ``when``; all lines of a rule must hold."""

    expr: Expr
    text: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class SetFact:
    """``set: {fact: expression}``."""

    fact: str
    expr: Expr
    text: str


@dataclass(frozen=True, slots=True)
class Reject:
    """``reject: text``: the plan cannot be recommended."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """``points: +4`` with ``reason: fit``: within one reason only the strongest counts."""

    points: float
    reason: str


@dataclass(frozen=True, slots=True)
class Say:
    """``advise:``, ``warn:``: a code of the vocabulary, with this case's text."""

    kind: Literal["advise", "warn"]
    code: str


@dataclass(frozen=True, slots=True)
class Ask:
    """``ask: fact``: put the fact at the head of the open questions."""

    fact: str


@dataclass(frozen=True, slots=True)
class Monitor:
    """``monitor: {figure: [low, high]}``."""

    figure: str
    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class Disagree:
    """``disagree: C13``: this disagreement between sources bears on the case."""

    conflict: str


@dataclass(frozen=True, slots=True)
class ShowFigure:
    """``figure: cloud_idle_pct``: report this figure of ``knowledge/figures.yaml``."""

    figure: str


@dataclass(frozen=True, slots=True)
class ConsiderCounts:
    """``consider_counts: [4, 8]``: plan these GPU counts too."""

    counts: tuple[int, ...]


Effect = SetFact | Reject | Points | Say | Ask | Monitor | Disagree | ShowFigure | ConsiderCounts


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A test inside a rule. ``near_miss`` holds the one thing that differs from the test before it."""

    given: dict[str, object]
    plan: dict[str, object]
    fires: bool
    near_miss: dict[str, object] | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, or one row of a decision table (then ``table`` names it and ``row`` is its position)."""

    id: str
    title: str
    stage: Stage
    each: Each
    when: tuple[Condition, ...]
    effects: tuple[Effect, ...]
    text: str  # Template for advise/warn/points, rendered with this case's values; may be empty.
    because: str
    sources: tuple[str, ...]
    encodes: tuple[str, ...] = ()
    status: Status = "stable"
    valid_until: str | None = None
    overrides: tuple[str, ...] = ()
    tests: tuple[RuleTest, ...] = ()
    topic: str = ""
    table: str | None = None
    row: int = 0
    hit: HitPolicy = "collect"
    place: Place | None = None
    reads: frozenset[str] = field(default_factory=frozenset)
    writes: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one rule on one set of facts."""

    rule: str
    outcome: Literal["fired", "overridden", "undecided", "not_fired"]
    by: str | None = None  # overridden: the rule that prevailed
    missing: tuple[str, ...] = ()  # undecided: the facts it lacks
    failed: str | None = None  # not_fired: the first false condition, as written
    value: Value | None = None  # not_fired: the value that made it false, where it has one fact
