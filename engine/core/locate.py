"""Where the rulebook and the knowledge lie: inside an installed wheel, or beside ``engine/`` in a checkout."""

from __future__ import annotations

from pathlib import Path


_ENGINE = Path(__file__).resolve().parents[1]


def locate(name: str) -> Path:
    """The folder ``rules`` or ``knowledge``. Raises FileNotFoundError if neither place has it."""
    for root in (_ENGINE / "_data", _ENGINE.parent):
        folder = root / name
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name!r} is neither in the package nor beside it")
