"""Running the checks over a rulebook."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

from engine.rulebook.model import Known
from engine.rulebook.model import Rulebook
from engine.verify.checks import ALL_CHECKS
from engine.verify.finding import Check
from engine.verify.finding import Desk
from engine.verify.finding import Finding
from engine.vocabulary import Vocabulary


_ALLOW = re.compile(r"#\s*lint:\s*allow\s+([a-z0-9, -]+)")


def lint(
    rulebook: Rulebook,
    vocabulary: Vocabulary,
    known: Known,
    today: datetime.date,
    *,
    produced: Iterable[str] = (),
    consumed: Iterable[str] = (),
    checks: Iterable[Check] = ALL_CHECKS,
) -> list[Finding]:
    """What the checks find, sorted by place.

    Args:
        rulebook: the rules.
        vocabulary: the facts they speak of.
        known: names that live elsewhere; an empty set of them is not checked.
        today: the day by which rules are too old.
        produced: facts that calculators and the pipeline give.
        consumed: facts that calculators and the pipeline read.
        checks: which to run.
    """
    desk = Desk(rulebook, vocabulary, known, today, frozenset(produced), frozenset(consumed))
    places = {rule.id: rule.place for rule in rulebook.rules}
    found = (finding for check in checks for finding in check.run(desk))

    def silenced(finding: Finding) -> bool:
        lines = (place.text for place in (finding.place, places.get(finding.rule or "")) if place)
        return any(finding.check in allowed_on(line) for line in lines)

    return sorted((finding for finding in found if not silenced(finding)), key=Finding.sort_key)


def allowed_on(line: str) -> frozenset[str]:
    """The checks that a line silences by ``# lint: allow ID, ID``."""
    match = _ALLOW.search(line)
    return frozenset(re.split(r"[,\s]+", match.group(1).strip())) if match else frozenset()


def check_page(check_id: str) -> str:
    """The page of one check. Raises KeyError if there is no such check."""
    return {check.id: check.page for check in ALL_CHECKS}[check_id]
