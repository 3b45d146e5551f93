"""``whichgpu report``: a decision as one page for a browser or a printer."""

from __future__ import annotations

from pathlib import Path

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.inputs import refuse_overwriting
from whichgpu.cli.records import read_saved
from whichgpu.cli.render.answered import owned_in
from whichgpu.cli.report.page import report_page
from whichgpu.engine.core import InputError
from whichgpu.engine.explain import Explainer, Phrases, Sensitivity, gather, sensitivity
from whichgpu.engine.interview import Answered
from whichgpu.engine.records import Saved


#: Re-decisions for one page: more than enough for what a workload usually leaves open.
_DECISIONS = 400


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
    refuse_overwriting(target, decision)
    saved = read_saved(decision)
    advisor = load()
    names = names_of(advisor, saved)
    explainer = Explainer(gather(saved.decision, saved.plans), Phrases(advisor.vocabulary), names.gpus)
    page = report_page(saved, names, explainer, _flips(saved, advisor), owned_in(saved.decision, advisor))
    if target == "-":
        output.emit(page)
        return 0
    with output.writing(target):
        output.save_private(Path(target), page)
    return 0


def _flips(saved: Saved, advisor: Advisor) -> Sensitivity | None:
    """What of the facts that are not stated would flip the answer; None where today's rules give another one."""
    plan, verdict = saved.decision["recommendation"], saved.decision["procurement"]["verdict"]
    if plan is None:
        return None
    try:
        with output.progress(_DECISIONS, "varying what was not stated, at most") as decided:
            found = sensitivity(saved.decision, advisor, limit=_DECISIONS, stated=False, watch=decided)
    except InputError:
        return None
    return found if found.verdict == Answered(plan["gpu"], plan["count"], verdict) else None
