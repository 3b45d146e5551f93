"""Whether a model's name is that of a configuration; apart from what reads one, which most decisions never need."""

from __future__ import annotations

from pathlib import Path


#: Before a name of the hub.
PREFIX = "hf:"


def names_a_config(name: str) -> bool:
    """Whether a model's name is a path to a configuration or a folder that holds one, or a name of the hub."""
    if name.endswith(".json") or name.startswith(PREFIX):
        return True
    return "/" in name and any((Path(name) / file).is_file() for file in ("config.json", "model_index.json"))
