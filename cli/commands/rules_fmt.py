"""``whichgpu rules fmt``: rule files in one form, comments and all."""

from __future__ import annotations

from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.inputs import STDIN, read_text
from whichgpu.cli.layers import layer_folders
from whichgpu.cli.options import layers_option
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.core import InputError, Problem, is_rule_file
from whichgpu.engine.rules import formatted


FOUND_WANTING = 1


@click.command(name="fmt")
@click.argument("paths", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a file is not in form.")
@layers_option
def fmt_rules(*, paths: tuple[str, ...], check: bool, rules: tuple[str, ...]) -> int:
    """Bring rule files into one form: keys in their order, lists indented alike, an empty line between entries.

    PATHS are rule files or folders of them; without any, the folders of --rules. Comments stay. - formats standard
    input to standard output.
    """
    if paths == (STDIN,):
        text, name = read_text(STDIN)
        output.emit(formatted(text, name))
        return 0
    files = _files([Path(path) for path in paths] or layer_folders(rules))
    if not files:
        raise InputError(Problem("nothing-to-format", "no rule file is named", fix="name a file or a folder of rules"))
    changed = []
    for file in files:
        text, name = read_text(str(file))
        result = formatted(text, name)
        if result != text:
            changed.append(file)
            if not check:
                with output.writing(file):
                    output.save(file, result)
    done = "would be" if check else "were"
    listed = "".join(f"{file}\n" for file in changed)
    output.emit(f"{listed}{len(changed)} of {count_of(len(files), 'file')} {done} changed.\n")
    return FOUND_WANTING if check and changed else 0


def _files(paths: list[Path]) -> list[Path]:
    """The files named, and the rule files in the folders named."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.glob("*.yaml") if is_rule_file(file)) if path.is_dir() else [path]
        found += inside
    return list(dict.fromkeys(found))
