"""Where the shipped rulebook and knowledge lie, and what the folders that lie over them as layers hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, count
from pathlib import Path


_ENGINE = Path(__file__).resolve().parents[1]
#: Where the folders are looked for, in this order.
_roots = [_ENGINE / "_data", _ENGINE.parent]


def read_data_from(root: Path) -> None:
    """Take ``rules`` and ``knowledge`` from this folder where it has them, for the rest of this process.

    For a process that decides by the data of another day: much of it is read once and kept, so this comes first.
    """
    _roots.insert(0, root)


def locate(name: str) -> Path:
    """The folder ``rules`` or ``knowledge``. Raises FileNotFoundError if no place has it."""
    for root in _roots:
        folder = root / name
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name!r} is neither in the package nor beside it")


#: Files of constants of which a layer may hold some, with ``because:``.
CONSTANT_FILES = ("economics.yaml", "plans.yaml", "objectives.yaml", "tasks.yaml")

#: Who answers for a layer.
LAYER_FILE = "layer.yaml"

#: Files of a layer that add to the vocabulary or the catalogue. Every other ``*.yaml`` in the folder holds rules.
LAYER_FILES = (
    "vocabulary.yaml",
    "codes.yaml",
    "gpus.yaml",
    "models.yaml",
    "sources.yaml",
    "costs.yaml",
    "figures.yaml",
    "disagreements.yaml",
    "parameters.yaml",
    "heuristics.yaml",
    "coverage.yaml",
    "policy.yaml",
    LAYER_FILE,
    *CONSTANT_FILES,
    "prices.csv",
)
#: Folders of a layer that do.
CATALOGUE_FOLDERS = ("gpus", "models")
#: How files of records are written: by hand, or gathered by a program.
RECORD_FORMS = frozenset({".yaml", ".json"})


def is_rule_file(path: Path) -> bool:
    """Whether a file that lies directly in a layer's folder holds rules."""
    return path.suffix == ".yaml" and path.name not in LAYER_FILES


def knowledge_files(folder: Path) -> dict[str, Path]:
    """The files of a layer that are no rules, by name relative to it, sorted."""
    found = [folder / name for name in LAYER_FILES if (folder / name).is_file()]
    for name in CATALOGUE_FOLDERS:
        found += [path for path in (folder / name).glob("*") if path.suffix in RECORD_FORMS and path.is_file()]
    return dict(sorted((path.relative_to(folder).as_posix(), path) for path in found))


def distinct(folders: Iterable[Path | str]) -> tuple[Path, ...]:
    """The folders in their order, each once."""
    seen: dict[Path, Path] = {}
    for folder in map(Path, folders):
        seen.setdefault(folder.resolve(), folder)
    return tuple(seen.values())


def layer_names(folders: Sequence[Path]) -> tuple[str, ...]:
    """What each layer is called: the folder's name, with the name above it or a number where two would be the same."""
    names: list[str] = []
    for folder in folders:
        path = folder.resolve()
        numbered = (f"{path.name}-{number}" for number in count(2))
        wanted = chain((path.name, f"{path.parent.name}/{path.name}"), numbered)
        names.append(next(name for name in wanted if name not in names))
    return tuple(names)
