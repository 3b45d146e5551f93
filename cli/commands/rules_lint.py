"""``whichgpu rules lint``: what is wrong, or may well be, in the rulebook."""

from __future__ import annotations

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.exits import WRONG_INPUT
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.checkpage import check_page
from whichgpu.cli.render.rules import finding_blocks, github_findings
from whichgpu.engine.authoring import ALL_CHECKS, UNDER_LAYERS, Finding, inspect
from whichgpu.engine.core import InputError, Problem, RulebookError, nearest_words
from whichgpu.engine.rules import RESPONSIBLE_KEYS


#: The rulebook has an error. One that cannot be read at all exits with 2.
FOUND_WANTING = 1


@click.command()
@output_format("text", "json", "github")
@click.option("--all", "everything", is_flag=True, help="Also notes, which are no faults.")
@click.option("--check", "only", metavar="CHECK", multiple=True, help="Only this check. May be repeated.")
@click.option("--explain", metavar="CHECK", help="Say what a check finds, why it matters, and how to silence it.")
@click.option(
    "--require",
    "required",
    multiple=True,
    type=click.Choice([key.name for key in RESPONSIBLE_KEYS]),
    help="What every rule has to state of who answers for it. May be repeated.",
)
@rules_options
def lint_rules(
    *,
    form: str,
    everything: bool,
    only: tuple[str, ...],
    explain: str | None,
    required: tuple[str, ...],
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Check the rulebook: conflicts, rules that never fire, gaps in tables, missing sources and tests.

    Exits with 0 where there is no error, 1 with one, 2 where the rules cannot be read. A remark at the end of a line
    silences a check there: # lint: allow CHECK: why
    """
    _check_names([*only, *([explain] if explain else [])])
    if explain:
        output.emit(check_page(explain))
        return 0
    try:
        advisor = load(rules, builtin=builtin)
    except RulebookError as error:
        if form == "text":
            raise
        _emit([_unreadable(problem) for problem in error.problems], form, 0)
        return WRONG_INPUT
    with output.working("checking the rules"):
        found = inspect(advisor, now().date(), required)
    findings = [
        finding
        for finding in found
        if (everything or finding.severity != "info" or only) and (not only or finding.check in only)
    ]
    _emit(findings, form, len(advisor.rulebook.rules))
    moot = len({finding.rule for finding in found if finding.message.startswith(UNDER_LAYERS)})
    if moot and form == "text" and not everything:
        output.emit(f"{moot} rules below are touched by these layers; --all says how.\n")
    return FOUND_WANTING if any(finding.severity == "error" for finding in findings) else 0


def _emit(findings: list[Finding], form: str, rules: int) -> None:
    if form == "json":
        output.emit_json([finding.to_dict() for finding in findings])
    elif form == "github":
        output.emit(github_findings(findings))
    else:
        output.emit_blocks(finding_blocks(findings, rules), form)


def _unreadable(problem: Problem) -> Finding:
    """A problem of reading, in the form of a finding."""
    return Finding(
        problem.code, "error", problem.message, problem.fact, problem.place, tuple(problem.nearest), problem.fix
    )


def _check_names(names: list[str]) -> None:
    known = [check.id for check in ALL_CHECKS]
    for name in names:
        if name not in known:
            fix = f"checks are {', '.join(known)}"
            raise InputError(
                Problem("unknown-check", f"there is no check {name!r}", nearest=nearest_words(name, known), fix=fix)
            )
