"""Where the rulebook and the knowledge lie: inside an installed wheel, or beside ``engine/`` in a checkout."""

from __future__ import annotations

from pathlib import Path


_HERE = Path(__file__).resolve().parent


def locate(name: str) -> Path:
    """The folder ``rules`` or ``knowledge``. Raises FileNotFoundError if neither place has it."""
    for root in (_HERE / "_data", _HERE.parent):
        folder = root / name
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name!r} is neither in the package nor beside it")
