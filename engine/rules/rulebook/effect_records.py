"""What rules do: a record for each effect. How one is read from a rule file stands in ``rulebook.effects``."""

from collections.abc import Callable
from typing import Literal

from whichgpu.engine.core import Facts
from whichgpu.engine.rules.language.compiling import evaluate
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.rulebook.model import Band, Claim, Effect


class SetFact(Effect, frozen=True):
    """``set: {fact: expression}``."""

    word = "set"
    says = "set {fact} to {text}"
    fact: str
    expr: Expr
    text: str

    def traced(self, facts: Facts) -> tuple[str, list[object] | dict[str, object]]:
        """As ``Effect.traced``: with the value that the rule gives the fact, which another may have prevailed over."""
        return self.word, {self.fact: evaluate(self.expr, facts)}


class ConsiderCounts(Effect, frozen=True):
    """``consider_counts: [4, 8]``: plan these GPU counts too."""

    word = "consider_counts"
    counts: tuple[int, ...]

    def words(self, number: Callable[[float], str]) -> str:
        """As ``Effect.words``."""
        *first, last = map(number, self.counts)
        return f"plan {', '.join(first)} or {last} GPUs as well" if first else f"plan {last} GPUs as well"


class Ask(Effect, frozen=True):
    """``ask: fact``: put the fact at the head of the open questions."""

    word = "ask"
    says = "ask for {fact}"
    fact: str


class Reject(Effect, frozen=True):
    """``reject: text``: the plan cannot be recommended."""

    word = "reject"
    says = "rule the plan out: {text}"
    text: str


class Fallback(Effect, frozen=True):
    """``fallback: text``: the plan is chosen only where no other qualifies, and why."""

    word = "fallback"
    says = "choose the plan only where no other qualifies: {text}"
    text: str


_BAND_WORDS: dict[Band, str] = {
    "cards": "a guide names these cards for the case",
    "counts": "a guide names this number of GPUs for the case",
}


class Points(Effect, frozen=True):
    """``points: +4`` with ``reason: fit``: within one reason only the strongest counts.

    With ``claim`` the points stand only where the claim cannot be computed. With ``band`` a guide names these cards,
    or this number of GPUs, for the case of the rule. A rule has at most one of the two.
    """

    word = "points"
    points: float
    reason: str
    claim: Claim | None = None
    band: Band | None = None

    def words(self, number: Callable[[float], str]) -> str:
        """As ``Effect.words``."""
        side = "for" if self.points > 0 else "against"
        more = ""
        if self.claim:
            more = f"; {claim_words(self.claim, number)}"
        elif self.band:
            more = f"; {_BAND_WORDS[self.band]}"
        return f"{number(abs(self.points))} points {side} the plan, on {self.reason}{more}"

    def traced(self, _: Facts) -> tuple[str, list[object] | dict[str, object]]:
        """As ``Effect.traced``."""
        return self.word, {self.reason: self.points}


def claim_words(claim: Claim, number: Callable[[float], str]) -> str:
    """What a rule asserts and the program computes, in words."""
    words = f"a claim that is checked: {claim.quantity.replace('_', ' ').replace('usd', 'USD')}"
    against = claim.over or "the other plans"
    if claim.ratio is not None:
        return f"{words} {number(claim.ratio)} x that of {against}"
    return f"{words} beside {against}"


class Say(Effect, frozen=True):
    """``advise:``, ``warn:``: a code of the vocabulary, with this case's text."""

    says = "{kind}: {code}"
    kind: Literal["advise", "warn"]
    code: str

    def traced(self, _: Facts) -> tuple[str, list[object] | dict[str, object]]:
        """As ``Effect.traced``."""
        return self.kind, [self.code]


class Monitor(Effect, frozen=True):
    """``monitor: {figure: [low, high]}``."""

    word = "monitor"
    figure: str
    low: float
    high: float | None

    def words(self, number: Callable[[float], str]) -> str:
        """As ``Effect.words``."""
        target = number(self.low) if self.high is None else f"{number(self.low)} to {number(self.high)}"
        return f"watch {self.figure}: {target}"

    def traced(self, _: Facts) -> tuple[str, list[object] | dict[str, object]]:
        """As ``Effect.traced``."""
        return self.word, {self.figure: [self.low, self.high]}


class ShowFigure(Effect, frozen=True):
    """``figure: cloud_idle_pct``: report this figure of ``knowledge/figures.yaml``."""

    word = "figure"
    says = "report the figure {figure}"
    figure: str


class Disagree(Effect, frozen=True):
    """``disagree: C13``: this disagreement between sources concerns the case."""

    word = "disagree"
    says = "name the disagreement {conflict}"
    conflict: str


#: Every effect, by which one is read back.
AnyEffect = SetFact | ConsiderCounts | Ask | Reject | Fallback | Points | Say | Monitor | ShowFigure | Disagree
