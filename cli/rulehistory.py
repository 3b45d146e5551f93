"""What became of a rule over time, as the version control of its file knows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from whichgpu.engine.core import InputError, Problem


class Revision(NamedTuple):
    """One commit that touched the lines of a rule."""

    commit: str
    day: str
    author: str
    subject: str
    lines: tuple[str, ...]  # taken away (-) and put in (+)


_MARK = "\x1e"
_FORMAT = f"--format={_MARK}%h%x1f%ad%x1f%an%x1f%s"


def history_of(name: str, path: Path) -> list[Revision]:
    """The commits that touched the rule, table or row called ``name`` in the file, the newest first.

    Raises:
        InputError: git is not there, the file is in none of its repositories, or no commit has the rule yet.
    """
    git = shutil.which("git")
    if git is None:
        fix = "install git, or look at the file itself"
        raise InputError(Problem("no-history", "the history of a rule is kept by git, which is not installed", fix=fix))
    text = _git(git, path.parent, "show", f"HEAD:./{path.name}")
    if text is None:
        fix = "commit the file; git log has what became of it from then on"
        raise InputError(Problem("no-history", f"{path} is in no git repository, or in no commit of it", fix=fix))
    extent = extent_of(name.rpartition("/")[2], text, within=name.partition("/")[0])
    if extent is None:
        raise InputError(Problem("no-history", f"no commit has {name!r} in {path.name} yet", fix="commit it"))
    first, last = extent
    history = _git(git, path.parent, "log", "--date=short", _FORMAT, f"-L{first},{last}:./{path.name}")
    return [_revision(part) for part in (history or "").split(_MARK) if part.strip()]


def extent_of(name: str, text: str, *, within: str) -> tuple[int, int] | None:
    """The first and last line, from 1, of the entry with this id; of a row ``within`` is the name of its table."""
    lines = text.splitlines()
    start = _entry(lines, within, 0)
    if start is None or name == within:
        return start
    return _entry(lines[: start[1]], name, start[0])


def _entry(lines: list[str], name: str, after: int) -> tuple[int, int] | None:
    head = re.compile(rf"(?P<indent>\s*)- \{{?(?:id|table): {re.escape(name)}\s*(?:[,}}#].*)?$")
    found = [(len(match["indent"]), at) for at in range(after, len(lines)) if (match := head.match(lines[at]))]
    if not found:
        return None
    deep, at = min(found)  # Rules lie less deep than the rows of tables.
    rest = range(at + 1, len(lines))
    end = next((n for n in rest if lines[n].strip() and len(lines[n]) - len(lines[n].lstrip()) <= deep), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    return at + 1, end


def _revision(part: str) -> Revision:
    head, _, patch = part.partition("\n")
    commit, day, author, subject = head.split("\x1f")
    changed = (line for line in patch.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---")))
    return Revision(commit, day, author, subject, tuple(line for line in changed if line.strip("+- ")))


def _git(git: str, folder: Path, *arguments: str) -> str | None:
    """What git prints; None where it refuses."""
    command = [git, "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - no shell, and our own words.
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
