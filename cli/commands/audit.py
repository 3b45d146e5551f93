"""``whichgpu audit``: whether a saved decision holds."""

from __future__ import annotations

import click
from msgspec.structs import asdict

from whichgpu.cli import output
from whichgpu.cli.advisor import load
from whichgpu.cli.inputs import read_saved
from whichgpu.cli.options import all_option, output_format, rules_options
from whichgpu.cli.render.audit import audit_blocks
from whichgpu.engine.core import InputError, Problem, sources_alone
from whichgpu.engine.explain import audit as audit_record


#: Something that was checked does not hold. What is no record at all exits with 2.
DOES_NOT_HOLD = 1


@click.command()
@click.argument("decision", metavar="RECORD", type=click.Path(allow_dash=True))
@all_option
@output_format("text", "json", "markdown")
@rules_options
def audit(*, decision: str, everything: bool, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Audit a saved record.

    Intact: every byte is as it was saved. Complete: every figure, point, advice and rejection traces to an input or a
    source. Reproducible: this rulebook and knowledge decide the same. And where the decision came from an interview,
    that what was not asked cannot matter, by sampling.

    Exit codes: 0 all of it holds, 1 something does not, 2 the file is no record.
    """
    saved = read_saved(decision)
    if saved.record is None:
        fix = "save one with: whichgpu recommend FILE --save RECORD"
        raise InputError(Problem("not-a-record", f"{saved.name} is a decision without the digest of a record", fix=fix))
    with sources_alone():  # What a cache holds proves nothing.
        checks = audit_record(saved.record, saved.text, load(rules, builtin=builtin))
    holds = all(check.holds is not False for check in checks)
    if form == "json":
        output.emit_json({"holds": holds, "checks": [asdict(check) for check in checks]})
    else:
        output.emit_blocks(audit_blocks(checks, saved.name, everything=everything), form)
    return 0 if holds else DOES_NOT_HOLD
