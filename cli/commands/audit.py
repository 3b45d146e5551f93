"""``whichgpu audit``: whether a saved decision is authentic, was true on its day, and would be taken again."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click
from msgspec.structs import asdict

from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.options import all_option, output_format, rules_options
from whichgpu.cli.records import marked, read_saved
from whichgpu.cli.render.audit import audit_blocks
from whichgpu.cli.revisions import Editions
from whichgpu.engine.core import InputError, Problem, sources_alone
from whichgpu.engine.explain import Verdict, audit as audit_record, verdict_of


#: By verdict. What is no record at all exits with 2.
EXIT_CODES: dict[Verdict, int] = {
    "sound": 0,
    "altered": 1,
    "contradicted": 4,
    "outdated": 5,
    "incomplete": 6,
    "unsigned": 7,
}


@click.command()
@click.argument("decision", metavar="RECORD", type=click.Path(allow_dash=True))
@click.option(
    "--as-of",
    "as_of",
    metavar="EDITION",
    help="Rules and knowledge of the record's day, where it has none: a checkout's folder or a git revision.",
)
@all_option
@output_format("text", "json", "markdown")
@rules_options
def audit(
    *, decision: str, as_of: str | None, everything: bool, form: str, rules: tuple[str, ...], builtin: bool
) -> int:
    """Audit a saved record, and give three verdicts on it.

    Authentic: every byte is as it was saved, and signed by a key that is trusted here. True as of its day: this program
    decides the same by the rules, knowledge and prices that the record carries. Would be decided the same today: by
    those of today, and if not, what changed it. Beside them: that everything in it traces to an input or a source, and
    that what an interview did not ask cannot matter, by sampling.

    Exit codes: 0 all of it holds, 1 altered, 2 no record, 4 it contradicts itself, 5 today's answer is another,
    6 incomplete, 7 not signed by a trusted key.
    """
    saved = read_saved(decision, altered=True)
    if saved.standing.state == "bare":
        fix = "save one with: whichgpu recommend FILE --save RECORD"
        raise InputError(Problem("not-a-record", f"{saved.name} is a decision without the digest of a record", fix=fix))
    with ExitStack() as stack:
        stack.enter_context(output.working("deciding again"))
        stack.enter_context(sources_alone())  # What a cache holds proves nothing.
        folder = _folder(as_of, stack) if as_of else None
        checks = audit_record(saved, load(rules, builtin=builtin), today=now(), as_of=folder)
    verdict = verdict_of(checks)
    if form == "json":
        payload = {"verdict": verdict, "holds": verdict == "sound", "checks": [asdict(check) for check in checks]}
        output.emit_json(marked(payload, saved))
    else:
        output.emit_blocks(audit_blocks(checks, verdict, saved.name, everything=everything), form)
    return EXIT_CODES[verdict]


def _folder(name: str, stack: ExitStack) -> Path:
    """The folder with ``rules`` and ``knowledge`` that a name on the command line means. Raises InputError."""
    edition = stack.enter_context(Editions([], builtin=False)).find(name)
    if edition.own_rules is None or edition.knowledge_folder is None:
        fix = "name a folder with rules/ and knowledge/, or a revision of a checkout"
        raise InputError(Problem("unknown-edition", f"{name!r} has no rules and knowledge of its own", fix=fix))
    return edition.knowledge_folder.parent
