"""What resolving the facts of a workload gives: each fact's value, where it came from, and what was overruled."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from whichgpu.engine.core import Value, is_number
from whichgpu.engine.rules.inference.evaluation import Evaluation
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.resolve import Collision, Resolution


Origin = Literal["given", "looked_up", "computed", "derived", "assumed"]
#: Which producer's value counts, strongest first.
PRECEDENCE: tuple[Origin, ...] = ("given", "looked_up", "computed", "derived", "assumed")


class FactCandidate(Struct, frozen=True):
    """The value that one producer puts forward for one fact."""

    origin: Origin
    by: str  # "input", a calculator's name, a rule id, or "vocabulary"
    value: Value
    inputs: tuple[str, ...] = ()  # facts it was made from
    formula: str = ""
    sources: tuple[str, ...] = ()


class ResolvedFact(Struct, frozen=True):
    """A fact with its value; ``overruled`` are weaker candidates that differ."""

    name: str
    candidate: FactCandidate
    overruled: tuple[FactCandidate, ...] = ()

    @property
    def value(self) -> Value:
        """The value that counts."""
        return self.candidate.value


class LevelJudgement(Struct, frozen=True):
    """What became of one level's rules: what each came to, and how their matches were resolved."""

    evaluation: Evaluation
    resolution: Resolution


class ResolvedFacts(Struct, frozen=True):
    """All facts that hold, in the order in which they were resolved, and the rules that fired meanwhile."""

    facts: dict[str, Value]
    resolved: dict[str, ResolvedFact]
    fired: tuple[Rule, ...] = ()
    collisions: tuple[Collision, ...] = ()
    judged: tuple[LevelJudgement, ...] = ()

    @property
    def assumed(self) -> frozenset[str]:
        """Facts that are not stated and that nothing resolved, so that the vocabulary's assumption holds."""
        return frozenset(name for name, fact in self.resolved.items() if fact.candidate.origin == "assumed")

    def contradictions(self, tolerance: float = 0.05) -> list[tuple[ResolvedFact, FactCandidate]]:
        """Given values that differ from a looked-up or computed one, numbers by more than ``tolerance`` (a ratio)."""
        return [
            (fact, candidate)
            for fact in self.resolved.values()
            if fact.candidate.origin == "given"
            for candidate in fact.overruled
            if candidate.origin in ("looked_up", "computed") and differ(fact.value, candidate.value, tolerance)
        ]


def differ(left: Value, right: Value, tolerance: float) -> bool:
    """Whether two values are not the same; numbers may differ by ``tolerance`` of the larger."""
    if is_number(left) and is_number(right):
        one, other = float(left), float(right)
        return abs(one - other) > tolerance * max(abs(one), abs(other))
    return bool(left != right)
