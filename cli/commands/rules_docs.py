"""``whichgpu rules docs``: the rulebook as a Markdown book."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.inputs import read_text
from whichgpu.cli.options import rules_options
from whichgpu.cli.render.book import MADE, book
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.core import InputError, Problem, is_rule_file


FOUND_WANTING = 1


@click.command(name="docs")
@click.argument("folder", default="docs/rulebook", type=click.Path(file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a page is not as it should be.")
@rules_options
def docs_rules(*, folder: Path, check: bool, rules: tuple[str, ...], builtin: bool) -> int:
    """Write the rulebook as Markdown pages by topic into FOLDER (docs/rulebook unless given).

    Pages of topics that are no longer there are removed; files that it did not write are left alone.
    """
    advisor = load(rules, builtin=builtin)
    pages = book(advisor, names_of(advisor), intros(advisor.folders))
    stale = _stale(folder, pages)
    if check:
        listed = "".join(f"{folder / name} is not as the rules say\n" for name in stale)
        output.emit(listed or f"{count_of(len(pages), 'page')} in {folder} are as the rules say.\n")
        return FOUND_WANTING if stale else 0
    _write(folder, pages, stale)
    output.emit(f"{count_of(len(pages), 'page')} in {folder}, {len(stale)} of them changed.\n")
    return 0


def intros(folders: Iterable[Path]) -> dict[str, str]:
    """By topic, the comment at the top of its rule file."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(path for path in folder.glob("*.yaml") if is_rule_file(path)):
            lines = []
            for line in path.read_text(encoding="utf-8").splitlines():
                if not line.startswith("#"):
                    break
                if not line.startswith("# yaml-language-server:"):
                    lines.append(line.lstrip("# "))
            found.setdefault(path.stem, " ".join(lines))
    return found


def _stale(folder: Path, pages: dict[str, str]) -> list[str]:
    """The pages that are missing, differ, or should not be there. Files that are no pages of a book are left alone.

    Raises:
        InputError: a page would be written over such a file.
    """
    found = {path.name: read_text(str(path))[0] for path in folder.glob("*.md")} if folder.is_dir() else {}
    there = {name: text for name, text in found.items() if text.startswith(MADE)}
    own = sorted((found.keys() - there.keys()) & pages.keys())
    if own:
        message = f"{folder / own[0]} is no page of the rulebook, and would be written over"
        raise InputError(Problem("file-exists", message, fix="name another folder"))
    return sorted(name for name in {*pages, *there} if pages.get(name) != there.get(name))


def _write(folder: Path, pages: dict[str, str], stale: Iterable[str]) -> None:
    with output.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in stale:
            if name in pages:
                output.save(folder / name, pages[name])
            else:
                (folder / name).unlink()
