"""The folders that hold the rules in use."""

from __future__ import annotations

from pathlib import Path

from whichgpu.cli.layers import layer_folders
from whichgpu.engine.core import locate


def folders_of(rules: tuple[str, ...], *, builtin: bool) -> list[Path]:
    """The built-in rules, unless left out, and the layers over them. Raises RulebookError."""
    return [*([locate("rules")] if builtin else []), *layer_folders(rules)]
