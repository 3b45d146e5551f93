"""Keys that a configuration inside another leaves out, because its class takes their value anyway.

transformers saves a part without the keys that have the value of its class: the text part of Gemma 3 states neither its
heads nor its vocabulary, BLIP-2's encoder nothing but its kind. The values are in ``class_defaults.json``
(benchmarks/lab/class_defaults.py writes it from the classes).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichgpu.engine.core import remembered


def completed(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A configuration whose parts have what their classes take. What the whole states itself is left as it is."""
    kinds = _table().get(str(content.get("model_type")), {}).get("inside", {})
    parts = {
        key: _part(value, str(value.get("model_type") or kinds.get(key)))
        for key, value in content.items()
        if isinstance(value, Mapping)
    }
    changed = {key: part for key, part in parts.items() if part != content[key]}
    return {**content, **changed} if changed else content


def _part(content: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    taken = dict(_table().get(kind, {}))
    named = {key for other, key in taken.pop("also", {}).items() if other in content}
    taken.pop("inside", None)
    taken = {key: value for key, value in taken.items() if key not in named}
    return {**taken, **completed({"model_type": kind, **content} if taken else content)}


@remembered
def _table() -> dict[str, dict[str, Any]]:
    return msgspec.json.decode(
        Path(__file__).with_name("class_defaults.json").read_bytes(), type=dict[str, dict[str, Any]]
    )
