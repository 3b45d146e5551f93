"""GPUs as the programs of their makers list them: nvidia-smi, rocm-smi, system_profiler, lspci."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct


_MIB = 2**20


class Device(Struct, frozen=True):
    """One GPU of a machine: its name as its maker's program prints it, and its memory in MiB where that was said."""

    name: str
    memory_mib: float | None = None
    used_mib: float | None = None


def read_devices(text: str) -> list[Device]:
    """The GPUs in what one of the programs printed, whichever it was and in whichever of its forms.

    Known are ``nvidia-smi`` (the table, ``-L``, ``-q``, ``--query-gpu=name,memory.total,memory.used --format=csv``),
    ``rocm-smi --showproductname --showmeminfo vram`` (text and ``--json``), ``system_profiler SPDisplaysDataType
    SPHardwareDataType`` (text and ``-json``) and ``lspci``.

    Returns:
        An empty list where none of them would print such a text, or no GPU is in it.
    """
    readers: tuple[Callable[[str], list[Device]], ...] = (
        _json,
        _nvidia_csv,
        _nvidia_table,
        _nvidia_list,
        _nvidia_query,
        _rocm,
        _apple,
        _lspci,
    )
    return next((found for reader in readers if (found := reader(text))), [])


def _mib(text: str | None) -> float | None:
    """A size with its unit, as ``24564 MiB`` or ``64 GB``; bare numbers are MiB."""
    match = re.fullmatch(r"\s*([\d.]+)\s*(MiB|MB|GiB|GB)?\s*", text or "")
    if match is None:
        return None
    return float(match[1]) * (1024.0 if (match[2] or "").startswith("G") else 1.0)


def _bytes_as_mib(text: object) -> float | None:
    return int(text) / _MIB if isinstance(text, str) and text.strip().isdigit() else None


def _nvidia_csv(text: str) -> list[Device]:
    lines = [[cell.strip() for cell in line.split(",")] for line in text.strip().splitlines()]
    heads = [re.sub(r"\s*\[.*\]", "", head) for head in lines[0]] if lines else []
    if "name" in heads:
        columns = {head: place for place, head in enumerate(heads)}
        rows = [row for row in lines[1:] if len(row) == len(heads)]
        order = [columns.get(name) for name in ("name", "memory.total", "memory.used")]
    else:  # Without a header, in the order in which this tool asks.
        rows = [row for row in lines if len(row) in {2, 3} and _mib(row[1]) is not None]
        order = [0, 1, 2]
        if len(rows) != len(lines):
            return []

    def cell(row: list[str], place: int | None) -> str | None:
        return row[place] if place is not None and place < len(row) else None

    return [Device(str(cell(row, order[0])), _mib(cell(row, order[1])), _mib(cell(row, order[2]))) for row in rows]


def _nvidia_table(text: str) -> list[Device]:
    """The table of plain nvidia-smi: the name stands in one line, the memory in the next."""
    found, name = list[Device](), None
    for line in text.splitlines():
        if started := re.match(r"\|\s+\d+\s+(\S.*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM)\s*\|\s+[0-9A-Fa-f]+:", line):
            name = started[1].strip()
        elif name and (memory := re.search(r"\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|", line)):
            found.append(Device(name, float(memory[2]), float(memory[1])))
            name = None
        elif name and re.search(r"Not Supported\s*\|", line):  # Memory that the GPU shares with the processor.
            found.append(Device(name))
            name = None
    return found


def _nvidia_list(text: str) -> list[Device]:
    return [Device(name.strip()) for name in re.findall(r"^GPU \d+: (.+?) \(UUID: ", text, re.MULTILINE)]


def _nvidia_query(text: str) -> list[Device]:
    """``nvidia-smi -q``: a block for each GPU, of lines ``name : value``."""
    found = []
    for block in re.split(r"^(?=GPU [0-9A-Fa-f]+:)", text, flags=re.MULTILINE):
        name = re.search(r"^\s*Product Name\s*:\s*(.+)$", block, re.MULTILINE)
        memory = re.search(r"FB Memory Usage\s*\n((?:\s+\w+\s*:.*\n?)+)", block)
        if name:
            sizes = dict(re.findall(r"(\w+)\s*:\s*(.+)", memory[1])) if memory else {}
            found.append(Device(name[1].strip(), _mib(sizes.get("Total")), _mib(sizes.get("Used"))))
    return found


def _rocm(text: str) -> list[Device]:
    """``rocm-smi`` as text: lines ``GPU[0] : Card Series: AMD Instinct MI210``."""
    cards: dict[str, dict[str, str]] = {}
    for number, key, value in re.findall(r"^GPU\[(\d+)\]\s*:\s*([^:]+?)\s*:\s*(.+?)\s*$", text, re.MULTILINE):
        cards.setdefault(number, {})[key] = value
    return list(_rocm_cards(cards.values()))


def _rocm_cards(cards: Iterable[Mapping[str, Any]]) -> Iterator[Device]:
    for card in cards:
        folded = {key.casefold(): value for key, value in card.items()}
        names = [str(folded[key]) for key in ("card series", "card model") if key in folded]
        named = next((name for name in names if not re.fullmatch(r"0x[0-9a-f]+|N/A", name, re.IGNORECASE)), None)
        if named:
            total, used = (_bytes_as_mib(folded.get(f"vram total {word}memory (b)")) for word in ("", "used "))
            yield Device(named, total, used)


def _apple(text: str) -> list[Device]:
    """``system_profiler`` as text: a chip has the memory of its machine."""
    memory = re.search(r"^\s*Memory:\s*(\d+ GB)\s*$", text, re.MULTILINE)
    names = re.findall(r"^\s*Chipset Model:\s*(Apple .+?)\s*$", text, re.MULTILINE)
    return [Device(name, _mib(memory[1]) if memory else None) for name in names]


def _json(text: str) -> list[Device]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(value, dict):
        return []
    displays = value.get("SPDisplaysDataType")
    if isinstance(displays, list):
        machines = value.get("SPHardwareDataType")
        machine = machines[0] if isinstance(machines, list) and machines and isinstance(machines[0], dict) else {}
        memory = _mib(str(machine.get("physical_memory", "")))
        names = [str(card.get("sppci_model", "")) for card in displays if isinstance(card, dict)]
        return [Device(name, memory) for name in names if name.startswith("Apple ")]
    return list(_rocm_cards(card for card in value.values() if isinstance(card, dict)))


def _lspci(text: str) -> list[Device]:
    """``lspci``: the name that is sold stands in brackets behind that of the chip."""
    found = []
    for line in text.splitlines():
        card = re.match(r"\S+\s+(?:VGA compatible|3D|Display) controller(?: \[\w+\])?:\s*(.+)$", line)
        maker = re.match(r"(NVIDIA|Advanced Micro Devices|Intel)", card[1]) if card else None
        if card and maker:
            text_of_card = re.sub(r"\s*\(rev .*\)$|\s*\[[0-9a-f]{4}:[0-9a-f]{4}\]", "", card[1])
            sold = [name for name in re.findall(r"\[([^\]]+)\]", text_of_card) if name != "AMD/ATI"]
            name = sold[-1] if sold else text_of_card.partition(" Corporation ")[2] or text_of_card
            vendor = {"Advanced Micro Devices": "AMD"}.get(maker[1], maker[1])
            found.append(Device(f"{vendor} {name}"))
    return found
