"""Small mistakes made on purpose in what rules do: another sign, amount, reason, code, value, text, no override."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.authoring.testing.mutants import nudged, turned_round
from whichgpu.engine.authoring.testing.text_mutants import headings_of, texts_of
from whichgpu.engine.core import Scalar
from whichgpu.engine.rules import (
    REASONS,
    Arith,
    Ask,
    Claim,
    ConsiderCounts,
    Const,
    Disagree,
    Effect,
    Expr,
    Fallback,
    Monitor,
    Points,
    Reject,
    Rule,
    Rulebook,
    Say,
    SetFact,
    ShowFigure,
    Vocabulary,
    written,
)


class EffectMutant(Struct, frozen=True):
    """A rule that does something else, and what, in words."""

    rule: Rule
    what: str


class EffectMutants:
    """Makes the mutants of a rulebook's effects; names are taken from what the other rules do."""

    def __init__(self, rulebook: Rulebook, vocabulary: Vocabulary) -> None:
        """Gather what the rules name."""
        self._vocabulary = vocabulary
        effects = [effect for rule in rulebook.rules for effect in rule.effects]
        self._asked = _names(effect.fact for effect in effects if isinstance(effect, Ask))
        self._figures = _names(effect.figure for effect in effects if isinstance(effect, ShowFigure))
        self._conflicts = _names(effect.conflict for effect in effects if isinstance(effect, Disagree))
        self._said = {
            kind: _names(effect.code for effect in effects if isinstance(effect, Say) and effect.kind == kind)
            for kind in ("advise", "warn")
        }
        self._tables = {rule.id: rule.table or rule.id for rule in rulebook.rules}
        # What rows say alike stands once in the file, and is tried on the first of them.
        self._first: dict[tuple[str | None, str], str] = {}
        for rule in sorted(rulebook.rules, key=lambda rule: rule.row):
            for said in (rule.title, rule.because) if rule.table else ():
                self._first.setdefault((rule.table, said), rule.id)

    def of(self, rule: Rule) -> Iterator[EffectMutant]:
        """All mutants of a rule's effects and text, in their order."""
        for at, effect in enumerate(rule.effects):
            for changed, what in self._changes(effect):
                effects = (*rule.effects[:at], changed, *rule.effects[at + 1 :])
                yield EffectMutant(replace(rule, effects=effects), what)
        if rule.text:
            yield EffectMutant(replace(rule, text=_OTHER_TEXT), "the text of another rule")
        yield from (EffectMutant(mistaken, what) for mistaken, what in texts_of(rule))
        for mistaken, what in headings_of(rule):
            said = rule.title if mistaken.title != rule.title else rule.because
            if self._first.get((rule.table, said), rule.id) == rule.id:
                yield EffectMutant(mistaken, what)

    def overrides_of(self, rule: Rule) -> Iterator[EffectMutant]:
        """The rule with each of its overrides left out; a table that it overrides counts as one."""
        for name in dict.fromkeys(self._tables.get(other, other) for other in rule.overrides):
            left = tuple(other for other in rule.overrides if self._tables.get(other, other) != name)
            yield EffectMutant(replace(rule, overrides=left), f"the override of {name} left out")

    def _changes(self, effect: Effect) -> Iterator[tuple[Effect, str]]:
        match effect:
            case Points():
                yield from _points(effect)
            case Say(kind, code):
                yield from self._renamed(effect, "code", code, self._said[kind], kind)
            case Ask(fact):
                yield from self._renamed(effect, "fact", fact, self._asked, "ask")
            case ShowFigure(figure):
                yield from self._renamed(effect, "figure", figure, self._figures, "figure")
            case Disagree(conflict):
                yield from self._renamed(effect, "conflict", conflict, self._conflicts, "disagree")
            case SetFact():
                yield from self._set(effect)
            case ConsiderCounts(counts):
                doubled = tuple(2 * count for count in counts)
                yield ConsiderCounts(doubled), f"`consider_counts: {list(counts)}` turned into {list(doubled)}"
            case Monitor(figure, low, high):
                yield replace(effect, low=low * 0.8), f"the target of {figure} moved to {low * 0.8:g}"
                if high is not None:
                    yield replace(effect, high=high * 1.2), f"the target of {figure} moved to {high * 1.2:g}"
            case Reject() | Fallback():
                yield replace(effect, text=_OTHER_TEXT), "the reason of another rule"

    def _renamed(
        self, effect: Effect, field: str, name: str, names: Sequence[str], word: str
    ) -> Iterator[tuple[Effect, str]]:
        if len(names) > 1:
            other = names[(names.index(name) + 1) % len(names)]
            yield replace(effect, **{field: other}), f"`{word}: {name}` turned into {other}"

    def _set(self, effect: SetFact) -> Iterator[tuple[Effect, str]]:
        for expr, shown in self._other_values(effect):
            yield replace(effect, expr=expr), f"`set: {{{effect.fact}: {effect.text}}}` turned into {shown}"

    def _other_values(self, effect: SetFact) -> Iterator[tuple[Expr, str]]:
        fact, value = self._vocabulary.facts[effect.fact], effect.expr
        if isinstance(value, Const) and isinstance(value.value, bool):
            yield Const(not value.value), str(not value.value).lower()
        elif isinstance(value, Const) and isinstance(value.value, str):
            if fact.choices:
                other = fact.choices[(fact.choices.index(value.value) + 1) % len(fact.choices)]
                yield Const(other), other
        elif isinstance(value, Const) and not isinstance(value.value, str):
            for number in nudged(value.value, whole=fact.type == "int"):
                yield Const(number), f"{number:g}"
        elif fact.numeric:
            yield Arith("*", value, Const(_FIFTH_MORE)), f"{_FIFTH_MORE:g} times as much"
            yield from ((turned, written(turned)) for turned in turned_round(value))


#: As much as a limit of a condition moves.
_FIFTH_MORE = 1.2
_OTHER_TEXT = "No rule says this."


def _names(names: Iterable[str]) -> list[str]:
    return sorted(set(names))


def _points(effect: Points) -> Iterator[tuple[Effect, str]]:
    points, reason, claim = effect.points, effect.reason, effect.claim
    yield replace(effect, points=-points), f"`points: {points:g}` turned into {-points:g}"
    amount = _another_amount(points)
    yield replace(effect, points=amount), f"`points: {points:g}` turned into {amount:g}"
    other = REASONS[(REASONS.index(reason) + 1) % len(REASONS)]
    yield replace(effect, reason=other), f"`reason: {reason}` turned into {other}"
    if effect.band is not None:
        band = "counts" if effect.band == "cards" else "cards"
        yield replace(effect, band=None), f"`band: {effect.band}` left out"
        yield replace(effect, band=band), f"`band: {effect.band}` turned into {band}"
    if claim is not None:
        yield replace(effect, claim=None), "the claim left out"
        yield from ((replace(effect, claim=changed), what) for changed, what in _claims(claim))


def _claims(claim: Claim) -> Iterator[tuple[Claim, str]]:
    quantity = "cost" if claim.quantity == "speed" else "speed"
    yield replace(claim, quantity=quantity), f"a claim of {claim.quantity} turned into one of {quantity}"
    if claim.ratio is not None:
        ratio = claim.ratio * _FIFTH_MORE
        yield replace(claim, ratio=ratio), f"a ratio of {claim.ratio:g} turned into {ratio:g}"
    if claim.over is not None:
        yield replace(claim, over=None), f"a claim over {claim.over} turned into one over the other plans"


def _another_amount(points: float) -> Scalar:
    """The next step of the scale: twice as much, or half where that is more than decisive."""
    return points * 2 if abs(points) <= 3 else points / 2
