"""``whichgpu fleet``: many jobs decided at once, what that comes to, and two results beside each other."""

from __future__ import annotations

import os
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from whichgpu import Advisor
from whichgpu.cli import exits, output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.fleet import RunSummary, run_jobs
from whichgpu.cli.options import currency_option, output_format, rules_options, set_option
from whichgpu.cli.render.fleet import difference_blocks, figures_json, fleet_blocks
from whichgpu.cli.render.names import Names
from whichgpu.cli.report.fleet_page import fleet_page
from whichgpu.engine.core import VERSION, InputError, Problem
from whichgpu.engine.fleet import (
    AS_WORKLOADS,
    FORMAT,
    FORMS,
    Here,
    JobMap,
    Manifest,
    Orders,
    Processes,
    RayTasks,
    Store,
    Workers,
    check_result,
    compare_results,
    default_form,
    figures_of,
    is_result,
    map_of_result,
    open_jobs,
    read_manifest,
    read_map,
)


#: Rows of a part: large enough that parts are few, small enough that it and its answers fit into memory many times.
_BATCH = 20_000


class _Fleet(click.Group):
    """``fleet JOBS`` is ``fleet run JOBS``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command in where jobs are named."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


_HELP = """\
Decide every job of a history: what it should have run on, what that would have cost, and by which rules.

\b
whichgpu fleet jobs.csv --map slurm.yaml -o out   decide (the same as: fleet run)
whichgpu fleet report out                         what it comes to
whichgpu fleet out -o other --rules DIR           the same jobs by other rules or prices
whichgpu fleet diff out other                     which decisions that changes
"""


@click.group(cls=_Fleet, help=_HELP, subcommand_metavar="JOBS -o OUT | report OUT | diff OUT OTHER")
def fleet() -> None:
    """Decide many jobs, and look at what that came to."""


@fleet.command(name="run")
@click.argument("jobs", metavar="JOBS")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for the rows.",
)
@click.option(
    "--map",
    "map_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What the columns of JOBS mean, as YAML.",
)
@set_option
@click.option(
    "--format", "form", type=click.Choice(FORMS), help="Of the rows; parquet where pyarrow is installed, else jsonl."
)
@click.option("--processes", type=click.IntRange(1, 1024), help="How many decide at once; as many as there are cores.")
@click.option(
    "--batch", type=click.IntRange(1, 1_000_000), default=_BATCH, show_default=True, help="Jobs per file of OUT."
)
@click.option(
    "--check",
    "checked",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Decide N random jobs again as recommend does, and compare.",
)
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where jobs are decided."
)
@click.option(
    "--address", metavar="ADDRESS", help="With --engine ray: of the cluster, such as auto or ray://HOST:10001."
)
@rules_options
def run_command(
    *,
    jobs: str,
    target: Path,
    map_file: Path | None,
    sets: tuple[str, ...],
    form: str | None,
    processes: int | None,
    batch: int,
    checked: int,
    engine: str,
    address: str | None,
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Decide every job in JOBS and write a row for each into the folder OUT.

    JOBS is a file or folder of Parquet, CSV or JSON Lines (also .gz, and fsspec URLs), or an earlier OUT. Without --map
    each column is the fact of its name, as with recommend --jsonl. Equal jobs are decided once. A wrong job gets a row
    that says so. Ctrl-C keeps what is done; the same command goes on from there.

    Exit codes: 0 every job was decided or refused with a reason, 2 some are wrong, 3 the program failed at some.
    """
    if address and engine != "ray":
        raise InputError(Problem("bad-option", "--address goes with --engine ray"))
    begin = partial(load, rules, builtin=builtin, tests=False)
    advisor = begin()
    job_map = _map_of(jobs, map_file, advisor)
    found = open_jobs(jobs)
    begun = read_manifest(target).form if is_result(str(target)) else default_form()
    wanted = Manifest(
        format=FORMAT,
        source=jobs,
        jobs=found.digest,
        map=job_map.digest,
        rulebook=advisor.rulebook.digest,
        knowledge=advisor.knowledge.digest,
        engine_version=VERSION,
        decided_at=now().isoformat(),
        changes=sets,
        rounding=job_map.rounding,
        keep=job_map.keep,
        batch=batch,
        form=form or begun,
    )
    store = Store.open(target, wanted)
    if not store.manifest.complete:
        workers = _workers(engine, begin, advisor, store.manifest, processes, address)
        run_jobs(found, job_map, advisor, workers, store)
    store.close()
    code = _close(store.manifest, target)
    if checked:
        again = check_result(target, store.manifest, advisor, checked)
        same = again.jobs - len(again.otherwise)
        output.emit(f"{same:,} of {again.jobs:,} jobs, decided again as recommend does, come out the same.\n")
        if again.otherwise:
            output.emit(f"Otherwise: rows {', '.join(map(str, again.otherwise[:20]))}\n")
            code = exits.INTERNAL_ERROR
    return code


@fleet.command(name="report")
@click.argument("result", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page (HTML) here.",
)
@output_format("text", "json", "markdown")
@currency_option
def report_command(*, result: Path, target: Path | None, form: str, currency: str) -> int:
    """Say what the result in OUT comes to: cost then and now, what saves most, and what cannot be judged."""
    manifest = read_manifest(result)
    advisor = load(tests=False)
    found = figures_of(result, manifest, advisor)
    names = _names(advisor)
    if target is not None:
        if currency.upper() != "USD":
            fix = "leave --currency out, or print the text: without -o"
            raise InputError(Problem("bad-option", "the page shows amounts in US dollars", fix=fix))
        with output.writing(target):
            output.save(target, fleet_page(found, names))
        return 0
    if form == "json":
        output.emit_json(figures_json(found))
    else:
        output.emit_blocks(fleet_blocks(found, names), form, currency, paged=True)
    return 0


@fleet.command(name="diff")
@click.argument("before", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("after", metavar="OTHER", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Every change, not only those of most jobs.")
@output_format("text", "markdown")
def diff_command(*, before: Path, after: Path, everything: bool, form: str) -> int:
    """Say which decisions differ between two results over the same jobs, and by how much cost.

    To compare two rulebooks or price lists, decide the jobs of OUT by the others: whichgpu fleet OUT -o OTHER --rules
    DIR. Exits with 0, whether or not anything differs.
    """
    found = compare_results(before, after)
    blocks = difference_blocks(found, (str(before), str(after)), _names(load(tests=False)), everything=everything)
    output.emit_blocks(blocks, form, paged=True)
    return 0


def _names(advisor: Advisor) -> Names:
    """What GPUs are called, and what warnings and rules say."""
    return Names(
        gpus={gpu.id: gpu.name for gpu in advisor.knowledge.gpus.values()},
        codes={code.code: code.meaning for code in advisor.vocabulary.codes.values()},
        rules={rule.id: rule.title for rule in advisor.rulebook.rules},
    )


def _map_of(jobs: str, map_file: Path | None, advisor: Advisor) -> JobMap:
    if map_file is not None:
        return read_map(map_file, advisor.vocabulary)
    return map_of_result(read_manifest(Path(jobs)).keep) if is_result(jobs) else AS_WORKLOADS


def _workers(
    engine: str, begin: Any, advisor: Advisor, manifest: Manifest, processes: int | None, address: str | None
) -> Workers:
    moment = datetime.fromisoformat(manifest.decided_at)
    orders = Orders(begin, moment, (advisor.rulebook.digest, advisor.knowledge.digest))
    if engine == "ray":
        return Workers(RayTasks(orders, address, processes))
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    width = processes or here
    return Workers(Here(advisor, moment) if width == 1 else Processes(orders, width))


def _close(manifest: Manifest, target: Path) -> int:
    summary = RunSummary.of(manifest)
    output.emit(summary.sentence(target))
    return exits.INTERNAL_ERROR if summary.internal else exits.WRONG_INPUT if summary.errors else exits.ANSWERED
