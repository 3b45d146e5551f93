"""What the configuration classes of transformers take for keys that a configuration leaves out.

Usage: python benchmarks/lab/class_defaults.py [--write]

A configuration inside another is saved without the keys that have the value which its class takes anyway: the text part
of Gemma 3 states neither its heads nor its vocabulary. ``class_defaults.json`` beside the readers
(``engine/catalogue/configurations``) holds these values for each kind, of the keys that they know, with the kinds of
the parts inside and other names that the class knows for a key. Left out are values that a class computes from others,
which is seen by doubling each number in turn.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


ROOT = Path(__file__).parents[2]
ROOM = ROOT / "engine" / "catalogue" / "configurations"


#: Made from others, or decided by the configuration around (tied embeddings).
_NOT_TAKEN = (
    *("layer_types", "mlp_layer_types", "layers_block_type", "model_type"),
    *("is_encoder_decoder", "tie_word_embeddings"),
)


def main() -> int:
    """Collect, and write with --write."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    known = known_keys()
    table = {kind: found for kind in sorted(CONFIG_MAPPING) if (found := defaults_of(kind, known))}
    lines = ",\n".join(f"{json.dumps(kind)}: {json.dumps(found, sort_keys=True)}" for kind, found in table.items())
    text = "{\n" + lines + "\n}\n"
    print(f"{len(table)} kinds, {len(text):,} characters")
    if "--write" in sys.argv:
        (ROOM / "class_defaults.json").write_text(text, encoding="utf-8")
    return 0


def known_keys() -> set[str]:
    """Every word that stands in the code of the readers."""
    sources = [*ROOM.glob("*.py"), ROOM.parent / "configs.py"]
    return {word for path in sources for word in re.findall(r'"([a-z_0-9]+)"', path.read_text(encoding="utf-8"))}


def defaults_of(kind: str, known: set[str]) -> dict[str, Any]:
    """What the class of a kind takes for each key that is known; of parts inside their kind alone."""
    usual = _made(kind, {})
    if usual is None:
        return {}
    computed = set(_NOT_TAKEN)
    for key, value in usual.items():
        if isinstance(value, int) and not isinstance(value, bool) and value > 0 and key in known:
            other = _made(kind, {key: 2 * value}) or {}
            computed |= {name for name in other if name != key and other[name] != usual.get(name)}
    found = {key: value for key, value in usual.items() if key in known - computed and _is_dimension(value)}
    inside = {
        key: value["model_type"] for key, value in usual.items() if isinstance(value, dict) and value.get("model_type")
    }
    names = {other: name for other, name in CONFIG_MAPPING[kind].attribute_map.items() if name in found}
    return found | ({"inside": inside} if inside else {}) | ({"also": names} if names else {})


def _made(kind: str, stated: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return CONFIG_MAPPING[kind](**stated).to_dict()
    except Exception:  # noqa: BLE001  # Classes of many authors: what cannot be made so is left out.
        return None


def _is_dimension(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, int | str) for item in value) and len(value) < 20
    return isinstance(value, int | float | str) and value != ""


if __name__ == "__main__":
    sys.exit(main())
