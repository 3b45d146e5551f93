"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from whichgpu.cli import completing


Function = TypeVar("Function", bound=Callable[..., Any])


set_option = click.option(
    "--set",
    "sets",
    metavar="FACT=VALUE",
    multiple=True,
    shell_complete=completing.changes,
    help="State a fact, over the file or record. May be repeated.",
)

all_option = click.option("--all", "everything", is_flag=True, help="Print everything.")

plain_option = click.option(
    "--plain", is_flag=True, help="No colour, no block characters and no pager: for screen readers and for logs."
)

show_option = click.option(
    "--show", "shown", metavar="SECTION,...", help="Print these sections instead of the page: memory, cost, advice, ..."
)

jsonl_option = click.option("--jsonl", is_flag=True, help="FILE holds one workload a line; answer each by one line.")

compact_option = click.option("--compact", is_flag=True, help="With --jsonl: lines of under 1 KB, without reasons.")

currency_option = click.option(
    "--currency", metavar="CODE", default="USD", show_default=True, help="Show amounts in this currency: EUR, INR, ..."
)


class NewFile(click.Path):
    """A file to write. An empty name, as of a shell's variable that is not set, would write nothing and say nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name. Refuses an empty one and a folder."""
        if value == "":
            self.fail("the name of the file is empty", param, ctx)
        return super().convert(value, param, ctx)


class Amount(click.FloatRange):
    """A number above zero, and no infinite one."""

    def __init__(self) -> None:
        super().__init__(min=0.0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Refuses every other text."""
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"{value!r} is not a number above 0", param, ctx)
        return amount


save_option = click.option(
    "--save", metavar="RECORD", type=NewFile(dir_okay=False), help="Save the decision record here; .gz packs it."
)

meta_option = click.option(
    "--meta",
    metavar="KEY=VALUE",
    multiple=True,
    help="Note in the record who asked, for what: requested_by, purpose, ticket, or any other key. May be repeated.",
)

sign_option = click.option(
    "--sign/--no-sign",
    "sign",
    default=None,
    help="Sign the record; by default it is signed if there is a key (whichgpu keys new).",
)

here_option = click.option("--here", is_flag=True, help="Take the GPUs that this machine lists as owned.")

full_option = click.option("--full", is_flag=True, help="With --jsonl: keep trace, rules and rejected.")


def output_format(*forms: str) -> Callable[[Function], Function]:
    """``--format``, the first form being the default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, help="How to print it."
    )


layers_option = click.option(
    "--rules",
    metavar="DIR",
    multiple=True,
    type=click.Path(file_okay=False),
    help="A folder of your own rules, facts, GPUs and prices, to lay over what is built in (also: WHICHGPU_RULES). "
    "May be repeated.",
)


def rules_options(function: Function) -> Function:
    """``--rules`` and ``--no-builtin-rules``."""
    function = click.option(
        "--no-builtin-rules", "builtin", flag_value=False, default=True, help="Use the folders of --rules alone."
    )(function)
    return layers_option(function)
