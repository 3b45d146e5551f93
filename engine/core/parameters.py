"""Named thresholds and scales, and which knowledge is in use: what ``$name`` in rule and knowledge files stands for.

``knowledge/parameters.yaml`` gives each number a name, a unit and a source. ``$name`` anywhere in a rule or knowledge
file is that number as it is written in a condition (2600), ``${name}`` as it is written in a sentence (2,600). A layer
that changes the number in its own ``parameters.yaml`` changes every place at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from whichgpu.engine.core.errors import KnowledgeError, Problem, nearest_words
from whichgpu.engine.core.folders import CONSTANT_FILES, locate
from whichgpu.engine.core.records import FrozenModel, RecordError, record_of
from whichgpu.engine.core.yaml.node import find, place_of
from whichgpu.engine.core.yaml.reading import Document, read_document


PARAMETERS_FILE = "parameters.yaml"

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Parameter(FrozenModel):
    """A number that experts may change, with its unit and where it comes from."""

    value: float
    unit: str
    meaning: str
    sources: tuple[str, ...]


class KnowledgeInUse:
    """A knowledge folder with layers over it. What is read of it is kept here, so that two of them never mix."""

    def __init__(self, folder: Path | None = None, layers: Sequence[Path] = ()) -> None:
        """``folder`` is the one that comes with the program where none is given."""
        self.folder = folder or locate("knowledge")
        self.layers = tuple(layers)
        self.kept: dict[object, Any] = {}
        files = (home / PARAMETERS_FILE for home in (self.folder, *self.layers))
        self._files = [path for path in files if path.is_file()]
        constants = (layer / name for layer in self.layers for name in CONSTANT_FILES)
        self._constants = [path for path in constants if path.is_file()]

    @cached_property
    def stamp(self) -> str:
        """Differs where a parameter does, or a constant that a layer changes."""
        whole = b"\n".join(path.read_bytes() for path in (*self._files, *self._constants))
        return hashlib.sha256(whole).hexdigest()

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, each as the highest layer has it.

        Raises:
            KnowledgeError: with every problem of the files.
        """
        whole: dict[str, dict[str, Any]] = {}
        problems: list[Problem] = []
        for path in self._files:
            document = read_document(path, error=KnowledgeError, cached=True, parameters=False)
            for name, entry in _entries(document, problems):
                laid = _over(name, entry, whole.get(name), document, problems)
                if laid is not None:
                    whole[name] = laid
        if problems:
            raise KnowledgeError(problems)
        return {name: record_of(Parameter, entry) for name, entry in sorted(whole.items())}


def _entries(document: Document, problems: list[Problem]) -> list[tuple[str, dict[str, Any]]]:
    plain = document.plain
    entries = plain.get("parameters") if isinstance(plain, dict) and len(plain) == 1 else None
    if not isinstance(entries, dict):
        fix = "write `parameters:` with {name: {value, unit, meaning, sources}} below it"
        message = f"{document.source.name} lists no parameters"
        problems.append(Problem("wrong-form", message, document.source.place(1, 1), fix=fix))
        return []
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            place = place_of(find(document.node, ("parameters", name)))
            fix = f"write {name}: {{value: {entry}, because: why it is another number here}}"
            problems.append(Problem("wrong-form", f"{name!r} is no entry of a parameter", place, fact=name, fix=fix))
    return [(name, entry) for name, entry in entries.items() if isinstance(entry, dict)]


def _over(
    name: str, entry: dict[str, Any], below: dict[str, Any] | None, document: Document, problems: list[Problem]
) -> dict[str, Any] | None:
    """The entry whole, over the one below where there is one and a reason is given."""
    if below is not None and not str(entry.get("because") or "").strip():
        place = place_of(find(document.node, ("parameters", name)))
        fix = f"write {{value: {entry.get('value')}, because: why it is another number here}}"
        problems.append(Problem("duplicate-id", f"{name!r} is a parameter already", place, fact=name, fix=fix))
        return None
    whole = {**(below or {}), **{key: value for key, value in entry.items() if key != "because" or below is None}}
    try:
        record_of(Parameter, whole)
    except RecordError as broken:
        problems += broken.problems(document.node, ("parameters", name), known=Parameter.__struct_fields__)
        return None
    return whole


_in_use: ContextVar[KnowledgeInUse | None] = ContextVar("knowledge_in_use", default=None)
_shipped: list[KnowledgeInUse] = []


def knowledge_in_use() -> KnowledgeInUse:
    """The knowledge that files are read with; what comes with the program where nothing was chosen."""
    chosen = _in_use.get()
    if chosen is not None:
        return chosen
    if not _shipped:
        _shipped.append(KnowledgeInUse())
    return _shipped[0]


def use_knowledge(chosen: KnowledgeInUse) -> None:
    """Read files with this knowledge from now on."""
    if _in_use.get() is not chosen:
        _in_use.set(chosen)


def kept_in_use(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Keep what a function gives, for each knowledge in use by itself."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        kept = knowledge_in_use().kept
        key = (function, *args, *sorted(kwargs.items())) if kwargs else (function, *args)
        if key not in kept:
            kept[key] = function(*args, **kwargs)
        found: _T = kept[key]
        return found

    return call


def unknown_parameter(name: str, document: str, line: int) -> Problem:
    """What to say of a name that no parameter has."""
    near = nearest_words(name, list(knowledge_in_use().parameters), limit=1)
    fix = None if near else f"add it to {PARAMETERS_FILE}, with value, unit, meaning and sources"
    return Problem(
        "unknown-parameter", f"{document}: line {line} has ${name}, which is no parameter", None, name, near, fix
    )
