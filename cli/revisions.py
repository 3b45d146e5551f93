"""Rulebooks to compare: the built-in one, a folder, or a revision of a git repository."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path
from tempfile import mkdtemp

from whichgpu.engine.authoring import Edition
from whichgpu.engine.core import InputError, Problem


#: The word for the rulebook that comes with the program.
BUILTIN = "builtin"


class Editions:
    """Finds editions by name. A context: revisions are unpacked into a folder that is removed at the end."""

    def __init__(self, layers: list[Path], *, builtin: bool) -> None:
        """``layers`` lie over every edition; without ``builtin``, folders are used alone."""
        self._layers = tuple(layers)
        self._builtin = builtin
        self._scratch: Path | None = None

    def __enter__(self) -> Editions:
        return self

    def __exit__(self, *_: object) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def find(self, name: str) -> Edition:
        """The edition that a name on the command line means. Raises InputError."""
        if name == BUILTIN:
            return Edition(name, self._layers)
        folder = Path(name)
        if folder.is_dir():
            return self._folder(name, folder)
        return self._revision(name)

    def _folder(self, label: str, folder: Path) -> Edition:
        """A checkout with ``rules/`` and ``knowledge/``, a whole rulebook, or a layer over the built-in one."""
        if (folder / "rules").is_dir() and (folder / "knowledge").is_dir():
            return Edition(label, self._layers, folder / "rules", folder / "knowledge")
        if not self._builtin:
            return Edition(label, self._layers, folder)
        return Edition(label, (*self._layers, folder))

    def _revision(self, name: str) -> Edition:
        git = shutil.which("git")
        top = _git(git, "rev-parse", "--show-toplevel") if git else None
        if git is None or top is None:
            fix = f"name a folder, a git revision, or {BUILTIN}"
            raise InputError(
                Problem("unknown-edition", f"{name!r} is no folder, and no git repository is here", fix=fix)
            )
        commit = _git(git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if commit is None:
            fix = f"name a folder, a git revision, or {BUILTIN}"
            raise InputError(Problem("unknown-edition", f"{name!r} is neither a folder nor a git revision", fix=fix))
        return self._folder(name, self._unpacked(git, commit.decode().strip(), Path(top.decode().strip())))

    def _unpacked(self, git: str, commit: str, top: Path) -> Path:
        """The files of a revision: ``rules`` and ``knowledge`` of a checkout, else all YAML and CSV of this folder."""
        self._scratch = self._scratch or Path(mkdtemp(prefix="whichgpu-"))
        target = self._scratch / commit[:12]
        for folder, wanted in ((top, ("rules", "knowledge")), (Path.cwd(), (".",))):
            packed = _git(git, "-C", str(folder), "archive", "--format=tar", commit, "--", *wanted)
            if packed is not None:
                with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                    # Releases before 3.11.4 have no filters, and need none: git packed this from a checkout at hand.
                    archive.extraction_filter = getattr(tarfile, "data_filter", None)
                    archive.extractall(target)  # noqa: S202
                return target
        raise InputError(Problem("unknown-edition", f"the revision {commit[:12]} has no rules here"))


def _git(git: str, *arguments: str) -> bytes | None:
    """What git prints; None where it refuses."""
    done = subprocess.run([git, *arguments], capture_output=True, check=False)  # noqa: S603 - no shell, and our own words.
    return done.stdout if done.returncode == 0 else None
