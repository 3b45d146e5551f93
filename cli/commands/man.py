"""``whichgpu man``: the manual pages of the command and all that stand under it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.engine.core import InputError, Problem


@click.command()
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def man(*, folder: Path | None) -> int:
    """Write the manual pages, one for each command, into FOLDER: `man whichgpu-recommend`.

    FOLDER is ~/.local/share/man/man1 unless given, where `man` looks for whoever has ~/.local/bin on the path. It
    needs the extra `man`: pip install 'whichgpu[man]'.
    """
    from whichgpu.cli.main import whichgpu  # noqa: PLC0415 - that module names this one.

    target = folder or _usual_folder()
    pages = list(_pages(whichgpu, click.Context(whichgpu, info_name="whichgpu")))
    with output.writing(target):
        target.mkdir(parents=True, exist_ok=True)
        for name, text in pages:
            output.save(target / f"{name}.1", text)
    output.emit(f"{len(pages)} manual pages written to {target}: man whichgpu\n")
    return 0


def _usual_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or ""
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share") / "man" / "man1"


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The name and text of each page, a group before what stands under it."""
    try:
        from click_man.man import ManPage  # noqa: PLC0415 - only this command needs the extra.
    except ImportError as error:
        problem = Problem("no-man-pages", "click-man is not installed", fix="pip install 'whichgpu[man]'")
        raise InputError(problem) from error
    under = {}
    if isinstance(command, click.Group):
        found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
        under = {name: each for name, each in found if each is not None and not each.hidden}
    page = ManPage(context.command_path.replace(" ", "-"))
    page.version = ""
    page.short_help = _roff(command.get_short_help_str(120))
    page.synopsis = " ".join(command.collect_usage_pieces(context))
    page.description = _description(command.help or "")
    options = (each for each in command.get_params(context) if isinstance(each, click.Option))
    records = filter(None, (option.get_help_record(context) for option in options))
    page.options = [(switches, _roff(text)) for switches, text in records]
    page.commands = [(name, _roff(each.get_short_help_str(120))) for name, each in under.items()]
    yield page.command, str(page)
    for name, each in under.items():
        yield from _pages(each, click.Context(each, info_name=name, parent=context))


def _description(text: str) -> str:
    r"""The help of a command: paragraphs are filled, those after ``\b`` stand as they are."""
    parts = []
    for paragraph in cleandoc(text).split("\n\n"):
        lines = paragraph.splitlines()
        fixed = bool(lines) and lines[0].strip() == "\b"
        body = "\n".join(map(_roff, lines[1:] if fixed else lines))
        parts.append(f".nf\n{body}\n.fi" if fixed else body)
    return "\n\n".join(parts)


def _roff(line: str) -> str:
    """A line that roff takes for text: no escape, no request."""
    escaped = line.replace("\\", "\\e")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
