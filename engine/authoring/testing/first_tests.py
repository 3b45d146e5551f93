"""A first test for a rule that has none: a case in which it fires, found by its conditions and tried first.

What a test made of a rule shows is what the rule says, right or wrong: it is there to be looked at, and for later edits
to be held against.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from whichgpu.engine.authoring.lint.regions import Example, Regions
from whichgpu.engine.authoring.testing.cases import FactsFor, TestCases
from whichgpu.engine.authoring.testing.suggesting import Suggestion
from whichgpu.engine.authoring.testing.writing import Written
from whichgpu.engine.core import Facts, Value, WhichgpuError, is_number
from whichgpu.engine.rules import Rule, Rulebook, Vocabulary, constants


#: Cards that are tried for a rule on plans, those first whose figures the case names.
_MOST_CARDS = 40


class FirstTests:
    """Finds first tests for the rules of one rulebook."""

    def __init__(
        self,
        rulebook: Rulebook,
        facts_for: FactsFor,
        vocabulary: Vocabulary,
        *,
        computed: Iterable[str],
        cards: Mapping[str, Facts],
    ) -> None:
        """Prepare.

        Args:
            rulebook: the rules.
            facts_for: resolves the facts of a test.
            vocabulary: the facts.
            computed: facts that calculators and the pipeline give.
            cards: the facts of each GPU of the catalogue by its id.
        """
        self._cases = TestCases(rulebook, facts_for)
        regions = Regions(rulebook, vocabulary, computed)
        self._regions = (regions.derived(), regions)
        self._vocabulary = vocabulary
        self._cards = cards

    def of(self, rule: Rule) -> Suggestion | None:
        """A case in which the rule fires; None where none is found."""
        for regions in self._regions:
            found = regions.find(regions.where(rule))
            if found is None:
                continue
            known = {name: value for name, value in found.example.items() if value is not None}
            readable = self._stated(rule, self._readable(rule, known), found.example)
            for given, plan in (*readable, *self._stated(rule, known, found.example)):
                try:
                    if self._cases.fires(rule, self._cases.facts(given, plan, rule.each)):
                        return Suggestion(given, plan, fires=True)
                except WhichgpuError:
                    continue
        return None

    def _stated(
        self, rule: Rule, known: Mapping[str, Value], example: Example
    ) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
        """What a test would state of the case; of a plan with each card that may be meant."""
        facts = self._vocabulary.facts
        given: dict[str, object] = {name: value for name, value in known.items() if facts[name].scope == "workload"}
        if rule.each == "workload":
            yield given, {}
            return
        plan: dict[str, object] = {name: value for name, value in known.items() if facts[name].scope == "plan"}
        count = plan.pop("plan.count", 1)
        for name in ("plan.gpu", "plan.family"):
            plan.pop(name, None)
        wanted = {name: value for name, value in example.items() if facts[name].scope == "gpu"}
        for card in islice(self._likeliest(wanted), _MOST_CARDS):
            yield given, {"gpu": card, "count": count, **plan}

    def _readable(self, rule: Rule, known: Mapping[str, Value]) -> dict[str, Value]:
        """The case with half of a limit in the place of the tiny numbers that a proof comes with."""
        limits = {
            name: float(value)
            for condition in rule.when
            for name, value in constants(condition.expr)
            if not isinstance(value, str | bool)
        }
        found = dict(known)
        for name, value in known.items():
            limit = limits.get(name, 0.0)
            if is_number(value) and abs(value) < limit / 20:
                half = limit / 2
                found[name] = round(half) if half >= 2 or self._vocabulary.facts[name].type == "int" else half
        return found

    def _likeliest(self, wanted: Example) -> Iterator[str]:
        def unlike(card: str) -> int:
            return sum(self._cards[card].get(name) != value for name, value in wanted.items())

        return iter(sorted(self._cards, key=lambda card: (unlike(card), card)))


def write_first_tests(found: Mapping[str, Suggestion], rulebook: Rulebook) -> list[Written]:
    """Put first tests into the files of their rules, behind all else that a rule says.

    A rule that stands in one line has no room for them and is passed over.
    """
    by_path: dict[Path, list[tuple[int, str]]] = {}
    for rule in rulebook.rules:
        if rule.id in found and rule.place is not None and not rule.tests:
            by_path.setdefault(Path(rule.place.path), []).append((rule.place.line, found[rule.id].text))
    written = []
    for path, tests in sorted(by_path.items()):
        lines, count = path.read_text(encoding="utf-8").split("\n"), 0
        for line, text in sorted(tests, reverse=True):  # From the last to the first, so that places stay true.
            count += _inserted(lines, line - 1, text)
        if count:
            path.write_text("\n".join(lines), encoding="utf-8")
            written.append(Written(path, count))
    return written


def _inserted(lines: list[str], start: int, text: str) -> bool:
    """Add a test at the end of the entry whose id stands in this line; False where it has no lines of its own."""
    line = lines[start]
    indent = len(line) - len(line.lstrip())
    if line.lstrip().startswith("- "):
        indent += 2
    if line[indent:].startswith("{"):
        return False
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) >= indent):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    lines[end:end] = [f"{' ' * indent}tests:", f"{' ' * (indent + 2)}{text}"]
    return True
