"""Constants with their sources and bands, and reading a file of them: every mistake with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

from whichgpu.engine.core.compiled import compiled_key, recall_compiled, remember_compiled
from whichgpu.engine.core.errors import KnowledgeError, Problem
from whichgpu.engine.core.folders import CONSTANT_FILES, locate
from whichgpu.engine.core.parameters import knowledge_in_use
from whichgpu.engine.core.records import FrozenModel, RecordError, record_of
from whichgpu.engine.core.yaml import Document, read_document


ConstantsT = TypeVar("ConstantsT", bound=FrozenModel)
#: Which end of a band is taken, and the other one.
Pick = Literal["value", "low", "high"]
TURNED: dict[Pick, Pick] = {"value": "value", "low": "high", "high": "low"}


class Banded(FrozenModel):
    """A constant with the band it was seen in and where."""

    value: float
    low: float
    high: float
    source: str

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.value:g} lies outside its band, {self.low:g} to {self.high:g}")

    def at(self, pick: Pick) -> float:
        """The number at the asked end of its band."""
        return self.value if pick == "value" else self.low if pick == "low" else self.high


def read_constants(model: type[ConstantsT], file: str, folder: Path | None = None) -> ConstantsT:
    """The constants in ``file`` of a knowledge folder, or of the one that comes with the program.

    Raises:
        KnowledgeError: with every problem of the file.
    """
    own = locate("knowledge")
    path = (folder or own) / file
    layers = knowledge_in_use().layers if file in CONSTANT_FILES else ()
    laid = [layer / file for layer in layers if (layer / file).is_file()]
    # What comes with the program is asked for at every start; other folders are those of tests and experiments.
    key = compiled_key([path, *laid]) if folder in {None, own} else None
    kept = recall_compiled(path.stem, key, model)
    if kept is not None:
        return kept
    document = read_document(path, error=KnowledgeError, name=f"knowledge/{file}", cached=key is not None)
    content = document.plain
    read = _checked(model, content, document)
    for layer in laid:
        document = read_document(layer, error=KnowledgeError, cached=True)
        content = _laid_over(content, document)
        read = _checked(model, content, document)
    remember_compiled(path.stem, key, read)
    return read


def _checked(model: type[ConstantsT], content: object, document: Document) -> ConstantsT:
    try:
        return record_of(model, content)
    except RecordError as broken:
        raise KnowledgeError(broken.problems(document.node)) from broken


def _laid_over(below: Any, document: Document) -> Any:
    """The content with that of a layer's file over it: mappings key by key, all else in place of what was there."""
    plain = document.plain
    if not isinstance(plain, dict) or not str(plain.get("because") or "").strip():
        fix = "write `because:` with the reason, and only the keys that differ"
        message = f"{document.source.name} changes constants and does not say why"
        raise KnowledgeError([Problem("missing-key", message, document.source.place(1, 1), fix=fix)])
    return _merged(below, {key: value for key, value in plain.items() if key != "because"})


def _merged(below: Any, over: Any) -> Any:
    if not isinstance(below, dict) or not isinstance(over, dict):
        return over
    return below | {key: _merged(below.get(key), value) for key, value in over.items()}
