"""``whichgpu rules refresh``: everything that is made of rules and knowledge, made anew, with what differs."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.commands.rules_docs import intros
from whichgpu.cli.render.answerkeys import keys_page
from whichgpu.cli.render.book import book
from whichgpu.cli.render.checkpage import check_page
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.advisor import schema_text
from whichgpu.engine.authoring import ALL_CHECKS, file_schemas, refreshed_manifest, text_of
from whichgpu.engine.core import InputError, Problem, locate


FOUND_WANTING = 1
#: Longer differences are cut: whoever wants all of one looks at it with git.
MOST_LINES = 200


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a file is not as it should be.")
@click.option("--answers/--no-answers", default=True, help="Also the kept answers and interviews (slower).")
def refresh_rules(*, check: bool, answers: bool) -> int:
    """Regenerate what is made from rules and knowledge: book, schemas, pages, coverage, kept answers and interviews.

    For a checkout, after any change of rules or knowledge. Prints what differs, line by line.
    """
    root = locate("rules").parent
    if not (root / "docs" / "rulebook").is_dir():
        fix = "run it in a checkout; a layer needs `whichgpu rules docs DIR` alone"
        raise InputError(Problem("no-checkout", f"{root} has no docs/rulebook to refresh", fix=fix))
    advisor = load((), builtin=True)
    changed = []
    with output.working("making book, schemas and pages"):
        made = list(_made(advisor, root))
    for path, text in made:
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text == before:
            continue
        changed.append(path)
        _show(path.relative_to(root).as_posix(), before, text or "")
        if not check and text is None:
            path.unlink()
        elif not check and text is not None:
            output.save(path, text)
    output.emit(f"{count_of(len(changed), 'file')} {'differ' if check else 'written'}.\n")
    differs = _answers(root, check=check) if answers else False
    return FOUND_WANTING if check and (changed or differs) else 0


def _made(advisor: Advisor, root: Path) -> Iterator[tuple[Path, str | None]]:
    """Every file that follows from rules and knowledge, with its text; None for one that should not be there."""
    docs = root / "docs"
    pages = book(advisor, names_of(advisor), intros(advisor.folders))
    yield from ((docs / "rulebook" / name, page) for name, page in pages.items())
    yield from ((path, None) for path in sorted((docs / "rulebook").glob("*.md")) if path.name not in pages)
    schemas = file_schemas(advisor.vocabulary, advisor.knowledge)
    yield from ((docs / "schemas" / f"{name}.schema.json", text_of(schema)) for name, schema in schemas.items())
    yield docs / "decision.schema.json", schema_text()
    yield docs / "answer.md", keys_page()
    yield from ((docs / "checks" / f"{check.id}.md", check_page(check.id)) for check in ALL_CHECKS)
    yield root / "knowledge" / "coverage.yaml", refreshed_manifest(advisor)


def _show(name: str, before: str, after: str) -> None:
    lines = [
        *difflib.unified_diff(before.splitlines(), after.splitlines(), f"was/{name}", f"now/{name}", "", "", 1, "")
    ]
    cut = [*lines[:MOST_LINES], f"... and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else lines
    output.emit("\n".join(cut) + "\n")


def _answers(root: Path, *, check: bool) -> bool:
    """The kept answers to the examples and the kept interviews; whether they differ. They are kept by the tests."""
    kept = root / "tests" / "goldens" / "regenerate.py"
    if not kept.is_file():
        return False
    ran = [subprocess.run([sys.executable, kept, *(() if check else ("--write",))], cwd=root, check=False)]  # noqa: S603
    environment = os.environ if check else {**os.environ, "WHICHGPU_NEW_GOLDENS": "1"}
    interviews = [sys.executable, "-m", "pytest", "-q", "tests/cli/test_interview_transcripts.py"]
    ran.append(subprocess.run(interviews, cwd=root, check=False, env=dict(environment)))  # noqa: S603
    return any(each.returncode for each in ran)
