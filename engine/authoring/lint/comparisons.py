"""Comparisons of facts with each other: what is known of them together, beside the classes of each fact."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from whichgpu.engine.authoring.lint.linear import GaveUp, Interval, Linear, System, bounds_of, form_of
from whichgpu.engine.core import Value
from whichgpu.engine.rules import MIRRORED, Compare, CompareOp, Domains, Expr, Span, Vocabulary, evaluate, written


#: A comparison that is none of a fact with a constant has a pseudo-fact: how its sides compare. The bits: below, the
#: same, above. What is no comparison of numbers has two: does not hold, holds.
OPAQUE = "?"
SIGNS = {"<": 1, "==": 2, ">": 4, "<=": 3, ">=": 6, "!=": 5}

_Point = dict[str, Fraction] | None


class Comparisons:
    """The comparisons that conditions make, by their pseudo-facts."""

    def __init__(self, vocabulary: Vocabulary, domains: Domains) -> None:
        self._vocabulary = vocabulary
        self._domains = domains
        self._forms: dict[str, Linear] = {}
        self._conditions: dict[str, tuple[Expr, bool]] = {}  # a condition, and whether its sides are exchanged
        self._points: dict[tuple[tuple[str, int], ...], _Point | GaveUp] = {}

    def named(self, comparison: Compare) -> tuple[str, int]:
        """The pseudo-fact of a comparison, and its signs where the comparison holds."""
        found = form_of(comparison, self._vocabulary)
        if found is not None:
            form, turned = found
            key = f"{OPAQUE}{form.key}"
            self._forms.setdefault(key, form)
        else:
            sides = (written(comparison.left), written(comparison.right))
            turned = sides[1] < sides[0]
            key = f"{OPAQUE}{min(sides)} ~ {max(sides)}"
        self._conditions.setdefault(key, (comparison, turned))
        return key, SIGNS[MIRRORED[comparison.op] if turned else comparison.op]

    def other(self, expr: Expr, key: str) -> str:
        """The pseudo-fact of a condition that is no comparison."""
        self._conditions.setdefault(f"{OPAQUE}{key}", (expr, False))
        return f"{OPAQUE}{key}"

    def reads(self, key: str) -> frozenset[str] | None:
        """The facts of a comparison that is decided exactly; None for any other."""
        form = self._forms.get(key)
        return form.reads if form and form.plain else None

    def possible(self, masks: Mapping[str, int]) -> bool:
        """Whether facts in these classes may compare as the pseudo-facts say. Raises GaveUp."""
        return self.point(masks) is not None

    def point(self, masks: Mapping[str, int]) -> _Point:
        """Values of the facts that are compared; None: the masks cannot hold together. Raises GaveUp."""
        forms = {key: form for key in masks if (form := self._forms.get(key)) and self._known(form, masks)}
        if not forms:
            return {}
        facts = {name for form in forms.values() for name, _ in form.terms}
        key = tuple(sorted((name, masks[name]) for name in {*forms, *facts} if name in masks))
        if key not in self._points:
            try:
                self._points[key] = self._system(forms, facts, masks).point()
            except GaveUp as gave_up:
                self._points[key] = gave_up
        found = self._points[key]
        if isinstance(found, GaveUp):
            raise found
        return found

    def _known(self, form: Linear, masks: Mapping[str, int]) -> bool:
        """Whether all facts of a comparison have to be known; else it is open which way it comes out."""
        return all(name in masks and not masks[name] & self._domains.of(name).unknown for name in form.reads)

    def _system(self, forms: Mapping[str, Linear], facts: set[str], masks: Mapping[str, int]) -> System:
        ranges: dict[str, tuple[Interval, ...]] = {}
        whole: set[str] = set()
        for name in sorted(facts):
            if name not in self._vocabulary.facts:
                ranges[name] = (bounds_of(name, self._vocabulary),)
                continue
            classes = self._domains.of(name)
            if classes.integer:
                whole.add(name)
            spans = [span for at, span in enumerate(classes.members) if masks[name] >> at & 1]
            ranges[name] = _joined([span for span in spans if isinstance(span, Span)])
        return System(tuple((form, masks[key]) for key, form in forms.items()), ranges, frozenset(whole))

    def mask_on(self, key: str, facts: Mapping[str, Value]) -> int:
        """How a comparison comes out on facts, as a mask; 0 where that is unknown."""
        expr, turned = self._conditions[key]
        if not isinstance(expr, Compare):
            held = evaluate(expr, facts)
            return 0 if held is None else 2 if held else 1
        signs: tuple[CompareOp, ...] = ("<", "==", ">")
        for op in signs:
            if evaluate(Compare(op, expr.left, expr.right), facts) is True:
                return SIGNS[MIRRORED[op] if turned else op]
        return 0


def _joined(spans: list[Span]) -> tuple[Interval, ...]:
    """Classes of numbers as intervals, neighbours in one."""
    joined: list[Interval] = []
    for span in spans:
        low, high = (None if abs(end) == float("inf") else Fraction(end) for end in (span.low, span.high))
        part = Interval(low, high, not span.point, not span.point)
        last = joined[-1] if joined else None
        if last and last.high == part.low and not (last.high_open and part.low_open):
            joined[-1] = Interval(last.low, part.high, last.low_open, part.high_open)
        else:
            joined.append(part)
    return tuple(joined)
