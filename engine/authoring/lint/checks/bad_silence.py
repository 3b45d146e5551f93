"""Remark that silences a check without saying why, or that names no check.

Why: the next reader cannot tell an exception that somebody weighed from a warning that somebody was tired of.

Bad::

    - id: any-model   # lint: allow missing-tests

Good::

    - id: any-model   # lint: allow missing-tests: the table's rows carry them

Silence: this cannot be silenced; write the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.authoring.lint.finding import allowance_on
from whichgpu.engine.authoring.lint.finding import places_of
from whichgpu.engine.core.errors import nearest_words


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        for place in places_of(rule):
            allowance = allowance_on(place.text)
            for name in allowance.checks:
                if name not in context.checks:
                    nearest = nearest_words(name, sorted(context.checks), limit=1)
                    fix = None if nearest else "whichgpu rules lint --list names them"
                    yield CHECK.about(rule, f"there is no check {name!r}", place=place, nearest=nearest, fix=fix)
            if allowance.checks and not allowance.reason:
                named = ", ".join(allowance.checks)
                yield CHECK.about(
                    rule,
                    f"{rule.id} silences {named} without a reason",
                    place=place,
                    fix=f"write # lint: allow {named}: why",
                )


CHECK = Check("bad-silence", "warning", _run, __doc__ or "")
