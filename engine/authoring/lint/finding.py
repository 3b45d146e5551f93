"""What a check reports, the remarks in rule files that silence it, and what checks are made of."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from whichgpu.engine.authoring.lint.formulas import Formula
from whichgpu.engine.authoring.lint.heuristic_limits import StatedCall, StatedLimit
from whichgpu.engine.authoring.lint.regions import Case, Example, Regions
from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.core import Facts, Place, Value
from whichgpu.engine.rules import Compare, FactRef, KnownNames, Rule, Rulebook, Vocabulary


if TYPE_CHECKING:
    from whichgpu.engine.authoring.lint.printed import PrintedFinding


#: error: the rulebook is wrong; warning: it may well be; info: worth knowing.
Severity = Literal["error", "warning", "info"]


class Finding(Struct, frozen=True):
    """One remark of a check about one rule, table or fact."""

    check: str
    severity: Severity
    message: str
    rule: str | None = None  # id of the rule, table or fact it is about
    place: Place | None = None
    nearest: tuple[str, ...] = ()
    fix: str | None = None
    possible: bool = False  # it depends on a comparison that is not looked into
    example: Example | None = None  # a workload that shows it; None for a fact that is unknown there

    def to_dict(self) -> PrintedFinding:
        """The finding as JSON values."""
        place = self.place
        return {
            "check": self.check,
            "severity": self.severity,
            "message": self.message,
            "rule": self.rule,
            "path": place.path if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "nearest": list(self.nearest),
            "fix": self.fix,
            "possible": self.possible,
            "example": None if self.example is None else dict(self.example),
        }

    def sort_key(self) -> tuple[str, int, int, str, str, str]:
        """By file, line and column, then check; findings without a place come first."""
        place = self.place or Place("", 0, 0)
        return (place.path, place.line, place.column, self.check, self.rule or "", self.message)


class StatedNumber(Struct, frozen=True):
    """A number that a source states of something: a unit (``GB``) or a fact (``param_count_b``)."""

    of: str
    number: float


class Statement(Struct, frozen=True):
    """What a heuristic of a guide states."""

    guide: str  # the source it was read in
    section: str  # the title of the section there; may be empty
    numbers: frozenset[StatedNumber] = frozenset()
    words: frozenset[str] = frozenset()  # as of ``lint.wording.words_of``
    facts: frozenset[str] = frozenset()  # that its condition names
    text: str = ""  # all that it says, in one
    limits: tuple[StatedLimit, ...] = ()  # what its condition holds facts against
    calls: tuple[StatedCall, ...] = ()  # what it concludes
    disputes: tuple[str, ...] = ()  # the disagreements that it lies in


class CatalogueView(Struct, frozen=True):
    """What exists, as far as conditions speak of it; what is empty is not checked."""

    gpus: tuple[Facts, ...] = ()  # the facts of every GPU
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by fact, what it may be


class Surroundings(Struct, frozen=True, kw_only=True):
    """What checks know beside rules and vocabulary; what is empty is not checked."""

    produced: frozenset[str] = frozenset()  # facts that calculators, look-ups and plans produce
    consumed: frozenset[str] = frozenset()  # facts that calculators and the pipeline read
    calculated: Mapping[str, frozenset[str]] = field(default_factory=dict)  # calculators' outputs: what each reads
    statements: Mapping[str, Statement] = field(default_factory=dict)  # by heuristic
    sections: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by source the titles of its sections
    uncarried: tuple[str, ...] = ()  # heuristics that nothing carries, and that are not set aside
    models: Mapping[str, ModelSpec] = field(default_factory=dict)  # of the catalogue
    run_sources: frozenset[str] = frozenset()  # sources of measured runs
    catalogue: CatalogueView = field(default_factory=CatalogueView)
    figures: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # of the knowledge, as their file states
    required: tuple[str, ...] = ()  # what every rule has to state of who answers for it: ``author`` and the like


class LintContext(Surroundings, frozen=True, kw_only=True):
    """All that a check may look at."""

    rulebook: Rulebook
    vocabulary: Vocabulary
    known: KnownNames
    today: datetime.date
    regions: Regions
    derived: Regions  # the same where what rules derive is not stated
    checks: frozenset[str] = frozenset()  # ids of all checks

    def by_table(self) -> list[list[Rule]]:
        """The rules, those of one table together."""
        found: dict[str, list[Rule]] = {}
        for rule in self.rulebook.rules:
            found.setdefault(rule.table or rule.id, []).append(rule)
        return list(found.values())

    def orders(self, rule: Rule) -> list[Formula]:
        """That of facts which the rule reads none is larger than what the vocabulary says it is at most."""
        facts = self.vocabulary.facts
        pairs = ((name, other) for name in sorted(rule.reads) for other in facts[name].at_most if other in rule.reads)
        more = (Compare(">", FactRef(name), FactRef(other)) for name, other in pairs)
        return [self.regions.outside(self.regions.true(expr)) for expr in more]

    def stated_by(self, rule: Rule) -> frozenset[StatedNumber]:
        """The numbers that the heuristics of a rule state."""
        known = (self.statements[name] for name in rule.encodes if name in self.statements)
        return frozenset(number for statement in known for number in statement.numbers)


class Check(Struct, frozen=True):
    """One check. ``page`` says what it finds, why that matters, a bad and a good example, and how to silence it."""

    id: str
    severity: Severity
    run: Callable[[LintContext], Iterator[Finding]]
    page: str

    def about(
        self,
        rule: Rule,
        message: str,
        *,
        place: Place | None = None,
        severity: Severity | None = None,
        nearest: tuple[str, ...] = (),
        fix: str | None = None,
        case: Case | None = None,
    ) -> Finding:
        """A finding of this check about ``rule``. A ``case`` shows it; one that is not certain makes it possible."""
        where = place or rule.place
        possible = case is not None and not case.certain
        example = case.example if case else None
        rank: Severity = severity or self.severity
        if possible and rank == "error":
            rank = "warning"
        return Finding(self.id, rank, message, rule.id, where, nearest, fix, possible, example)


def check(
    severity: Severity, *, silence: str = "with the rule's id"
) -> Callable[[Callable[[LintContext], Iterator[Finding]]], Check]:
    """Make a check of a function, by whose name it goes and whose docstring is its page.

    ``silence`` says at the end of which line the remark stands that silences it; a page that says so itself goes first.
    """

    def make(run: Callable[[LintContext], Iterator[Finding]]) -> Check:
        name, page = run.__name__.replace("_", "-"), inspect.cleandoc(run.__doc__ or "")
        if "\nSilence: " not in page:
            page += f"\n\nSilence: put ``# lint: allow {name}: why`` at the end of the line {silence}."
        return Check(name, severity, run, page)

    return make


_ALLOW = re.compile(r"#\s*lint:\s*allow\s+(?P<checks>[a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)\s*(?::\s*(?P<reason>.*))?$")


class Allowance(Struct, frozen=True):
    """The checks that one line silences, and why; an empty reason where none is given."""

    checks: tuple[str, ...]
    reason: str = ""


def allowance_on(line: str) -> Allowance:
    """What a line of a rule file silences."""
    match = _ALLOW.search(line)
    if match is None:
        return Allowance(())
    checks = tuple(re.split(r"\s*,\s*", match["checks"].strip()))
    return Allowance(checks, (match["reason"] or "").strip())


def places_of(rule: Rule) -> tuple[Place, ...]:
    """The places of a rule whose lines may carry such a remark, each line once."""
    places = (rule.place, *(condition.place for condition in rule.when))
    by_line = {(place.path, place.line): place for place in reversed(places) if place}
    return tuple(by_line[key] for key in sorted(by_line))


def named(rules: Sequence[Rule]) -> str:
    """Rules by id in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    ids = [rule.id for rule in rules]
    return ids[0] if len(ids) == 1 else f"{', '.join(ids[:-1])} and {ids[-1]}"


def shown(example: Example) -> str:
    """An example in a line: ``param_count_b = 70, task = inference, budget_usd_total unknown``."""
    return ", ".join(
        f"{name} unknown" if value is None else f"{name} = {_shown(value)}" for name, value in example.items()
    )


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return f"[{', '.join(str(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
