"""``whichgpu report``: a decision as one page for a browser or a printer."""

from __future__ import annotations

from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.records import read_saved
from whichgpu.cli.report.page import report_page
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.explain import Explainer, Phrases, gather


@click.command()
@click.argument("decision", metavar="DECISION", type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    default="-",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the page here instead of to standard output.",
)
def report(decision: str, target: str) -> int:
    """Write DECISION as one self-contained HTML page, readable without network and without scripts.

    First what a committee reads: what was asked, the answer and its price, the best alternatives, what would change it,
    risks, signature and sign-off, on up to five printed pages. Then, folded, everything behind it: memory, cost over
    time, the derivation, what was rejected and why, sources, disagreements. Unfold it to print it too. Only its owner
    may read the file that is written.
    """
    saved = read_saved(decision)
    advisor = load()
    names = names_of(advisor, saved)
    explainer = Explainer(gather(saved.decision, saved.plans), Phrases(advisor.vocabulary), names.gpus)
    page = report_page(saved, names, explainer)
    if target == "-":
        output.emit(page)
        return 0
    try:
        output.save_private(Path(target), page)
    except OSError as error:
        raise InputError(Problem("unwritable", f"cannot write {target}: {error.strerror or error}")) from error
    return 0
