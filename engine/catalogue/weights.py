"""How many parameters lie in the weights of a folder, from the headers of its safetensors files; no tensor is read.

Source of the format: huggingface/safetensors, README: eight bytes of length, a JSON header of that length, the tensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct


#: Types of which one number is one parameter. Others hold positions, a few bytes, or several parameters in one number.
_PLAIN = frozenset(("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"))
#: The most that others may be of all bytes where nothing is packed.
_FEW = 0.001
_LONGEST_HEADER = 100_000_000
#: What publishers call the weights that a library loads by default, before variants in other precisions.
_USUAL = ("model.safetensors", "diffusion_pytorch_model.safetensors")


class Weights(Struct, frozen=True):
    """Weights as they lie in files: their bytes, and their parameters where no type packs several into one number."""

    size_bytes: int
    parameters: int | None


def weights_in(folder: Path) -> Weights | None:
    """The weights that lie in a folder; None where there are none, or where a file is not whole."""
    files = _files(folder)
    headers = [_header(path) for path in files]
    if not files or any(header is None for header in headers):
        return None
    tensors = [tensor for header in headers if header for tensor in _tensors(header)]
    total = sum(size for _, _, size in tensors)
    packed = sum(size for dtype, _, size in tensors if dtype not in _PLAIN)
    parameters = sum(numbers for dtype, numbers, _ in tensors if dtype in _PLAIN)
    return Weights(total, parameters if parameters and packed <= _FEW * total else None)


def _files(folder: Path) -> list[Path]:
    """The files of one copy of the weights: those that an index lists, the usual one, or one variant's parts."""
    found = sorted(folder.glob("*.safetensors"))
    for index in sorted(folder.glob("*.safetensors.index.json"), key=lambda path: len(path.name)):
        listed = _json(index.read_bytes()).get("weight_map")
        if isinstance(listed, Mapping):
            names = {str(name) for name in listed.values()}
            parts = [path for path in found if path.name in names]
            return parts if len(parts) == len(names) else []
    usual = [path for path in found if path.name in _USUAL]
    return usual[:1] or (found if len(found) == 1 else [])


def _header(path: Path) -> Mapping[str, Any] | None:
    """The header of one file; None where it is none, or where the file ends before its last tensor does."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length < _LONGEST_HEADER:
                return None
            header = _json(file.read(length))
        last = max((end for *_, end in _spans(header)), default=0)
        return header if path.stat().st_size >= 8 + length + last else None
    except OSError:
        return None


def _json(raw: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(raw)
    except ValueError:
        return {}
    return content if isinstance(content, Mapping) else {}


def _spans(header: Mapping[str, Any]) -> Iterable[tuple[str, list[int], int, int]]:
    """Type, shape, and where the bytes of each tensor begin and end."""
    for name, tensor in header.items():
        if name == "__metadata__" or not isinstance(tensor, Mapping):
            continue
        shape, span = tensor.get("shape"), tensor.get("data_offsets")
        if isinstance(shape, list) and isinstance(span, list) and all(type(part) is int for part in (*shape, *span)):
            yield str(tensor.get("dtype")), shape, span[0], span[-1]


def _tensors(header: Mapping[str, Any]) -> Iterable[tuple[str, int, int]]:
    """Type, numbers and bytes of each tensor."""
    return ((dtype, math.prod(shape), end - start) for dtype, shape, start, end in _spans(header))
