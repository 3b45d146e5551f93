"""Constants with their sources and bands, and reading a file of them: every mistake with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import problems_from_pydantic, read_document


ConstantsT = TypeVar("ConstantsT", bound=BaseModel)
#: Which end of a band is taken, and the other one.
Pick = Literal["value", "low", "high"]
TURNED: dict[Pick, Pick] = {"value": "value", "low": "high", "high": "low"}


class FrozenModel(BaseModel):
    """Frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Banded(FrozenModel):
    """A constant with the band it was seen in and where."""

    value: float
    low: float
    high: float
    source: str

    @model_validator(mode="after")
    def _inside_its_band(self) -> Banded:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.value:g} lies outside its band, {self.low:g} to {self.high:g}")
        return self

    def at(self, pick: Pick) -> float:
        """The number at the asked end of its band."""
        return self.value if pick == "value" else self.low if pick == "low" else self.high


def read_constants(model: type[ConstantsT], file: str, folder: Path | None = None) -> ConstantsT:
    """The constants in ``file`` of a knowledge folder, or of the one that comes with the program.

    Raises:
        KnowledgeError: with every problem of the file.
    """
    path = (folder or locate("knowledge")) / file
    document = read_document(path, error=KnowledgeError, name=f"knowledge/{file}", cached=folder is None)
    try:
        return model.model_validate(document.plain)
    except ValidationError as broken:
        raise KnowledgeError(problems_from_pydantic(broken, document.node)) from broken
