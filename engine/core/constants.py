"""Constants with their sources and bands, and reading a file of them: every mistake with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

from whichgpu.engine.core.compiled import compiled_key, recall_compiled, remember_compiled
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.records import FrozenModel, RecordError, record_of
from whichgpu.engine.core.yaml import read_document


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
    # What comes with the program is asked for at every start; other folders are those of tests and experiments.
    key = compiled_key([path]) if folder in {None, own} else None
    kept = recall_compiled(path.stem, key, model)
    if kept is not None:
        return kept
    document = read_document(path, error=KnowledgeError, name=f"knowledge/{file}", cached=key is not None)
    try:
        read = record_of(model, document.plain)
    except RecordError as broken:
        raise KnowledgeError(broken.problems(document.node)) from broken
    remember_compiled(path.stem, key, read)
    return read
