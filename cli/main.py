"""The command ``whichgpu``. Commands load when they are called, so that ``--help`` is quick."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import NamedTuple

import click

from whichgpu.cli import exits
from whichgpu.cli.groups import SuggestingGroup
from whichgpu.engine.core import collect_rarely


class CommandEntry(NamedTuple):
    """The module of a command in ``cli/commands``, its name there, its line in the list, and what one does with it."""

    module: str
    name: str
    help: str
    task: str


_ANSWER = "Get an answer"
_QUESTION = "Question an answer"
_RECORDS = "Keep and check records"
_LOOK = "Look things up"
_REST = "Change rules, and the rest"

#: In the order in which help lists them.
COMMANDS: dict[str, CommandEntry] = {
    "ask": CommandEntry("ask", "ask", "Answer a few questions and get a recommendation.", _ANSWER),
    "resume": CommandEntry("ask", "resume", "Go on with an interview that was begun with ask.", _ANSWER),
    "recommend": CommandEntry("recommend", "recommend", "Recommend GPUs for a workload file.", _ANSWER),
    "size": CommandEntry("size", "size", "Memory, speed and fit on GPUs that you have or name.", _ANSWER),
    "fit": CommandEntry("fit", "fit", "Which models run on the GPUs that are here, or that you name.", _ANSWER),
    "here": CommandEntry("fit", "here", "Which GPUs this machine has, and what is free of their memory.", _ANSWER),
    "fleet": CommandEntry("fleet", "fleet", "What every job that ran should have run on, and at what cost.", _ANSWER),
    "init": CommandEntry("init", "init", "Write a commented workload file to fill in.", _ANSWER),
    "why": CommandEntry("why", "why", "How a conclusion came about, down to inputs and sources.", _QUESTION),
    "why-not": CommandEntry("why_not", "why_not", "Why a GPU is not chosen, and the nearest change for it.", _QUESTION),
    "what-if": CommandEntry("compare", "what_if", "Decide again with facts changed, and compare.", _QUESTION),
    "diff": CommandEntry("compare", "diff", "Compare two decisions.", _QUESTION),
    "replay": CommandEntry("compare", "replay", "Decide again by today's rules and prices, and compare.", _RECORDS),
    "sensitivity": CommandEntry(
        "sensitivity", "sensitivity", "Which facts flip the decision, at which value.", _QUESTION
    ),
    "verdicts": CommandEntry("verdicts", "verdicts", "What became of every rule.", _QUESTION),
    "audit": CommandEntry(
        "audit", "audit", "Whether a record is authentic, true as of its day, and current.", _RECORDS
    ),
    "keys": CommandEntry("keys", "keys", "Keys that sign records, and whose signatures count.", _RECORDS),
    "register": CommandEntry("register", "register", "Keep many decisions, compare and check them.", _RECORDS),
    "report": CommandEntry("report", "report", "Write a decision as pages for a committee.", _RECORDS),
    "gpus": CommandEntry("catalogue", "gpus", "Look at the GPUs, with sources.", _LOOK),
    "models": CommandEntry("catalogue", "models", "Look at the models, with sources.", _LOOK),
    "prices": CommandEntry("prices", "prices", "Look at the price snapshot, or import offers.", _LOOK),
    "facts": CommandEntry("facts", "facts", "Look at the facts that a workload can state.", _LOOK),
    "rules": CommandEntry("rules", "rules", "Check, test and show the rules.", _REST),
    "schema": CommandEntry("schema", "schema", "Print the JSON Schema of an answer.", _REST),
    "completion": CommandEntry("completion", "completion", "Let the shell complete commands, facts and names.", _REST),
    "man": CommandEntry("man", "man", "Write the manual pages.", _REST),
    "doctor": CommandEntry("doctor", "doctor", "Which engine fires and why, versions, digests, price dates.", _REST),
}


_HELP = """\
Which GPU, how many, linked how, rented or bought? A recommendation with its reasons and sources.

\b
Start with:  whichgpu init --task inference
Then:        whichgpu recommend workload.yaml

Exit codes: 0 answered, 1 no recommendation (and why), 2 the input is wrong, 3 internal error.
"""


#: What other programs call such commands.
_CALLED_SO = {
    **dict.fromkeys(("explain", "trace"), ("why", "why-not")),
    **dict.fromkeys(("plan", "run", "decide", "advise"), ("recommend", "ask")),
    **dict.fromkeys(("compare", "whatif", "simulate"), ("what-if", "diff")),
    **dict.fromkeys(("interview", "wizard", "chat", "start"), ("ask",)),
    **dict.fromkeys(("validate", "check"), ("recommend", "audit", "rules lint")),
    **dict.fromkeys(("list", "search"), ("gpus", "models", "prices", "facts")),
    **dict.fromkeys(("export", "html", "pdf"), ("report",)),
    **dict.fromkeys(("estimate", "memory", "vram"), ("size", "fit")),
    **dict.fromkeys(("new", "template"), ("init",)),
}


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported on first use."""

    called_so = _CALLED_SO

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of ``COMMANDS``, the main one first."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(importlib.import_module(f"whichgpu.cli.commands.{entry.module}"), entry.name)
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click passes it.
        formatter: click.HelpFormatter,
    ) -> None:
        """The commands by what one does with them, without importing one."""
        for task in dict.fromkeys(entry.task for entry in COMMANDS.values()):
            with formatter.section(task):
                formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items() if entry.task == task])


def _version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from importlib import metadata  # noqa: PLC0415 - 20 ms that only this option needs.

        try:
            click.echo(f"whichgpu {metadata.version('whichgpu')}")
        except metadata.PackageNotFoundError:
            click.echo("whichgpu 0+unknown")
        ctx.exit()


@click.group(
    cls=LazyGroup, help=_HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def whichgpu() -> None:
    """Answer what GPUs a workload needs."""


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        result = whichgpu.main(args=arguments, prog_name="whichgpu", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - outermost: no traceback leaves.
        return exits.report(error)
    return result if isinstance(result, int) else exits.ANSWERED


def main() -> None:
    """The console script."""
    # numpy's linear algebra, which nothing here uses, starts a thread for each core; that is half of numpy's import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    collect_rarely()
    code = run()
    # All that is left dies with the process: looking through it for cycles first took a tenth of a command.
    gc.freeze()
    sys.exit(code)
