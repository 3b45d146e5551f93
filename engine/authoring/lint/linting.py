"""Running the checks over a rulebook."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from collections.abc import Mapping

from whichgpu.engine.authoring.lint.checks import ALL_CHECKS
from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.finding import StatedNumber
from whichgpu.engine.authoring.lint.finding import allowance_on
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Known
from whichgpu.engine.rules.rulebook.model import Rulebook


#: Checks that no remark silences: one is about remarks, the other about rulebooks that do not work.
NEVER_SILENT = frozenset({"bad-silence", "cyclic-derivation"})


def lint_rulebook(
    rulebook: Rulebook,
    vocabulary: Vocabulary,
    known: Known,
    today: datetime.date,
    *,
    produced: Iterable[str] = (),
    consumed: Iterable[str] = (),
    calculated: Mapping[str, frozenset[str]] | None = None,
    heuristic_numbers: Mapping[str, frozenset[StatedNumber]] | None = None,
) -> list[Finding]:
    """What the checks find, sorted by place.

    Args:
        rulebook: the rules.
        vocabulary: the facts they speak of.
        known: names that live elsewhere; an empty set of them is not checked.
        today: the day by which rules are too old.
        produced: facts that calculators and the pipeline give.
        consumed: facts that calculators and the pipeline read.
        calculated: the facts that calculators give, with those that each of them reads.
        heuristic_numbers: the numbers that each heuristic of the catalogue states.
    """
    given = frozenset(produced)
    settled_by_rules = {fact for rule in rulebook.rules for fact in rule.writes} - frozenset(calculated or {})
    regions = Regions(rulebook, vocabulary, given - settled_by_rules)
    context = LintContext(
        rulebook,
        vocabulary,
        known,
        today,
        regions,
        given,
        frozenset(consumed),
        calculated or {},
        heuristic_numbers or {},
        frozenset(check.id for check in ALL_CHECKS),
    )
    places = {rule.id: rule.place for rule in rulebook.rules}
    found = (finding for check in ALL_CHECKS for finding in check.run(context))

    def silenced(finding: Finding) -> bool:
        lines = (place.text for place in (finding.place, places.get(finding.rule or "")) if place)
        return finding.check not in NEVER_SILENT and any(finding.check in allowance_on(line).checks for line in lines)

    return sorted((finding for finding in found if not silenced(finding)), key=Finding.sort_key)


def check_page(check_id: str) -> str:
    """The page of one check as Markdown. Raises KeyError if there is no such check."""
    return _markdown({check.id: check for check in ALL_CHECKS}[check_id])


def _markdown(check: Check) -> str:
    """The page as written beside the check, its examples fenced."""
    title, _, body = check.page.strip().partition("\n")
    lines: list[str] = []
    fenced = False
    for line in body.replace("``", "`").splitlines():
        indented = line.startswith("    ")
        if indented and not fenced:
            lines.append("```yaml")
        elif fenced and line and not indented:
            lines[-1:] = ["```", ""]
        fenced = indented or (fenced and not line)
        lines.append(line[4:] if indented else re.sub("::$", ":", line))
    heading = title.replace("``", "`")
    return f"# {check.id}\n\n{heading} Severity: {check.severity}.\n" + "\n".join(lines) + "\n"
