"""``whichgpu init``: a commented workload file, made from the vocabulary, for a person to fill in."""

from __future__ import annotations

from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.inputs import STDIN
from whichgpu.cli.layers import load_facts
from whichgpu.cli.options import layers_option
from whichgpu.cli.template import template
from whichgpu.engine.catalogue import task_profiles
from whichgpu.engine.core import InputError, Problem


@click.command()
@click.argument("file", default="workload.yaml", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--task", type=click.Choice([*task_profiles()]), help="What the GPU will do; leaves out what does not concern it."
)
@click.option("--all", "everything", is_flag=True, help="Every fact, also those that seldom matter.")
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
@layers_option
def init(*, file: str, task: str | None, everything: bool, force: bool, rules: tuple[str, ...]) -> int:
    """Write a commented workload file to fill in (FILE is workload.yaml unless given; - prints it)."""
    text = template(load_facts(rules), task, everything=everything)
    if file == STDIN:
        output.emit(text)
        return 0
    _write(Path(file), text, force=force)
    output.emit(f"Wrote {file}. Fill in what you know, then run: whichgpu recommend {file}\n")
    return 0


def _write(path: Path, text: str, *, force: bool) -> None:
    if path.exists() and not force:
        message = f"{path} is there already, and was left as it is"
        raise InputError(Problem("file-exists", message, fix="give another name, or --force to overwrite"))
    with output.writing(path):
        output.save(path, text)
