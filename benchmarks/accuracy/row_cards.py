"""Which card stands for the one that a published run names."""

from __future__ import annotations

import re
from typing import Any


Row = dict[str, Any]

#: Cards by name and memory: a name alone may stand for a series.
_CARDS = {
    ("NVIDIA A100", 40): "nvidia-a100-40gb-sxm",
    ("NVIDIA A100", None): "nvidia-a100-80gb-sxm",
    ("NVIDIA A100", 80): "nvidia-a100-80gb-sxm",
    ("NVIDIA H100", 80): "nvidia-h100-80gb-sxm",
    ("NVIDIA H100", None): "nvidia-h100-80gb-sxm",
    ("NVIDIA RTX 3080", 10): "nvidia-rtx-3080-10gb",
    ("NVIDIA H200", 141): "nvidia-h200-sxm",
    ("NVIDIA H200", None): "nvidia-h200-sxm",
    ("NVIDIA H800", 80): "nvidia-h100-80gb-sxm",
    ("NVIDIA V100", 16): "nvidia-v100-16gb",
    ("NVIDIA V100", 32): "nvidia-v100-32gb",
    ("NVIDIA V100", None): "nvidia-v100-32gb",
    ("NVIDIA H100", 96): "nvidia-h100-80gb-sxm",
    ("NVIDIA Blackwell Ultra GPU (GB300)", 277.55): "nvidia-gb300",
    ("Virtualized NVIDIA H200-SXM-141GB", 141): "nvidia-h200-sxm",
}
#: A card that stands for one with more memory: by how many times more.
_MORE_MEMORY = {("NVIDIA H100", 96): 1.2}
#: What a source adds to the name of a card: the system around it in brackets, form and memory as MLPerf writes them.
_ADDED = re.compile(r"\s*\((?:DGX|HBM)[^)]*\)|-PCIe-\d+GB$")
#: A card of that memory, where a row names only the memory.
_BY_MEMORY = {
    8: "nvidia-rtx-3070",
    12: "nvidia-rtx-3060-12gb",
    16: "nvidia-t4",
    24: "nvidia-rtx-4090",
    32: "nvidia-rtx-5090",
    40: "nvidia-a100-40gb-sxm",
    48: "nvidia-l40s",
    80: "nvidia-a100-80gb-sxm",
}
_ANY_CARD = "nvidia-a100-80gb-sxm"


def card_of(hardware: dict[str, Any]) -> str:
    """The card of the catalogue that the run was on, or one that stands for it."""
    name, memory = hardware.get("gpu"), hardware.get("memory_gb_each")
    if name is None:
        return _BY_MEMORY.get(memory, _ANY_CARD)
    plain = _ADDED.sub("", str(name))
    return _CARDS.get((plain, memory), plain)


def memory_beyond(row: Row) -> float:
    """How many times the memory of the asked card the row's own card has."""
    hardware = row.get("hardware", {})
    named = _ADDED.sub("", str(hardware.get("gpu"))), hardware.get("memory_gb_each")
    return _MORE_MEMORY.get(named, 1.0)
