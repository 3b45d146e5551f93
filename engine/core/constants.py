"""Reading a file of constants: one pydantic model for the whole file, every mistake with its place."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel
from pydantic import ValidationError

from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import problems_from_pydantic
from whichgpu.engine.core.yaml import read_document


ConstantsT = TypeVar("ConstantsT", bound=BaseModel)


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
