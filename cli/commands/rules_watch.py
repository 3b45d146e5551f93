"""``whichgpu rules watch``: check, test and compare answers whenever a rule file is saved."""

from __future__ import annotations

import time

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.exits import report as report_error
from whichgpu.cli.options import rules_options
from whichgpu.cli.render.blocks import Paragraph
from whichgpu.cli.rulefolders import folders_of
from whichgpu.cli.rulewatch import Snapshot, answer, check, report, report_answers, stamps
from whichgpu.engine.core import WhichgpuError


@click.command()
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.FloatRange(0.01, 60),
    default=0.1,
    show_default=True,
    help="How often to look.",
)
@click.option("--rounds", metavar="N", type=click.IntRange(min=1), help="Stop after N reports; else on Ctrl-C.")
@rules_options
def watch_rules(*, every: float, rounds: int | None, rules: tuple[str, ...], builtin: bool) -> int:
    """Check, test and show which answers changed, now and whenever a rule or scenario file is saved."""
    folders = folders_of(rules, builtin=builtin)
    seen: dict[str, tuple[int, int]] | None = None
    last: Snapshot | None = None
    done = 0
    while rounds is None or done < rounds:
        current = stamps(folders)
        if current == seen:
            time.sleep(every)
            continue
        seen = current
        last = _round(rules, builtin, last)
        done += 1
    return 0


def _round(rules: tuple[str, ...], builtin: bool, last: Snapshot | None) -> Snapshot | None:
    """One look at the rules. Rules that cannot be read are reported, and compared again once they can be."""
    began = time.perf_counter()
    try:
        advisor, moment = load(rules, builtin=builtin), now()
        checked = check(advisor, moment, last)
        took = time.perf_counter() - began
        # Checks and tests are shown at once: answering workloads takes longer than both.
        output.emit_blocks([*report(last, checked), Paragraph(f"Checked and tested in {took:.1f} s.")], "text")
        found = answer(checked, folders_of(rules, builtin=builtin), moment, last)
    except WhichgpuError as error:
        report_error(error)
        return last
    took = time.perf_counter() - began
    ends = Paragraph(f"Looked at in {took:.1f} s. Ctrl-C ends.")
    output.emit_blocks([*report_answers(last, found), ends], "text")
    return found
