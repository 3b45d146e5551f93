"""The folders that this place lays over the built-in rules, and what can be looked at without loading the rules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from whichgpu.engine.core import Problem, RulebookError, distinct, locate


if TYPE_CHECKING:
    from whichgpu.engine.catalogue import Knowledge
    from whichgpu.engine.rules import Vocabulary


#: Folders of this place's own rules, separated like those of ``PATH``.
LAYERS_VARIABLE = "WHICHGPU_RULES"
#: What a layer holds, one of these at least.
_HELD = ("*.yaml", "prices.csv", "gpus/*", "models/*", "scenarios/*.yaml")


def layer_folders(rules: tuple[str, ...] = ()) -> list[Path]:
    """The folders of ``WHICHGPU_RULES``, then those of ``--rules``, each once. Raises RulebookError."""
    here = [entry for entry in os.environ.get(LAYERS_VARIABLE, "").split(os.pathsep) if entry.strip()]
    named = [*((entry, LAYERS_VARIABLE) for entry in here), *((entry, "--rules") for entry in rules)]
    return list(distinct(_folder(entry, option) for entry, option in named))


def load_catalogue(rules: tuple[str, ...] = (), *, own_prices: bool = True) -> Knowledge:
    """GPUs, models and prices alone, with those of the layers and, if wanted, the prices that the user imported."""
    from whichgpu.cli.prices import with_own_prices  # noqa: PLC0415 - only some commands need the catalogue.
    from whichgpu.engine.catalogue import load_knowledge  # noqa: PLC0415

    knowledge = load_knowledge(layers=layer_folders(rules))
    return with_own_prices(knowledge) if own_prices else knowledge


def load_facts(rules: tuple[str, ...] = ()) -> Vocabulary:
    """The vocabulary alone, with the facts of the layers."""
    from whichgpu.engine.rules import load_vocabulary  # noqa: PLC0415 - only some commands need the vocabulary.

    return load_vocabulary(locate("knowledge"), layers=layer_folders(rules))


def _folder(name: str, option: str) -> Path:
    folder = Path(name)
    if not folder.is_dir():
        raise RulebookError(Problem("not-a-folder", f"{option} {name}: there is no such folder"))
    if not any(path.is_file() for form in _HELD for path in folder.glob(form)):
        # Such a folder would change nothing and say nothing: most likely another one is meant.
        deeper = sorted({path.parent.name for path in folder.glob("*/*.yaml") if not path.parent.name.startswith(".")})
        fix = (
            f"name a folder inside it: {', '.join(deeper)}"
            if deeper
            else "whichgpu rules new ID --in DIR writes a rule"
        )
        message = f"{option} {name}: there are no rules, facts, GPUs or prices in it"
        raise RulebookError(Problem("empty-layer", message, fix=fix))
    return folder
