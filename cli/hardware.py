"""The GPUs of this machine, or of one whose listing is in a file, as entries of the catalogue."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.cli.devices import Device, read_devices
from whichgpu.cli.inputs import read_text
from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import InputError, Problem


#: What lists GPUs with their memory, the most detailed first; lspci knows names alone.
PROGRAMS: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi", "--query-gpu=name,memory.total,memory.used", "--format=csv"),
    ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json"),
    ("system_profiler", "SPDisplaysDataType", "SPHardwareDataType", "-json"),
    ("lspci",),
)
_PATIENCE_S = 15
#: Readings of memory and what is sold differ by no more.
_SAME_MEMORY = 0.08
_MIB_PER_GB = 1e9 / 2**20
#: Parts of device names that distinguish no cards.
_BESIDE_THE_POINT = re.compile(r"\s*(?:\b\d+\s?GB\b|Lite Hash Rate|with Max-Q Design)", re.IGNORECASE)
NOTHING_FOUND = Problem(
    "no-gpu-here",
    "no GPU was found on this machine: none of nvidia-smi, rocm-smi, system_profiler and lspci lists one",
    fix="name GPUs by --gpu ID --count N (fit, size), or give --from FILE with what a program prints (fit, here)",
)


class Group(Struct, frozen=True):
    """GPUs of one kind in a machine.

    Attributes:
        gpu: the entry of the catalogue; None where it has none.
        devices: that were listed.
        used_gb: what other programs take of the fullest of them, decimal GB.
        nearest: ids that may have been meant, where there is no entry.
    """

    gpu: Gpu | None
    devices: tuple[Device, ...]
    used_gb: float
    nearest: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.devices)


def groups_in(file: str, knowledge: Knowledge) -> list[Group]:
    """The GPUs in a listing that one of the programs printed. Raises InputError where there are none in it."""
    text, name = read_text(file)
    devices = read_devices(text)
    if not devices:
        message = f"{name} names no GPU in a form of nvidia-smi, rocm-smi, system_profiler or lspci"
        fix = "write it anew, for example by: nvidia-smi > gpus.txt"
        raise InputError(Problem("no-gpu-listed", message, fix=fix))
    return grouped_devices(devices, knowledge)


def groups_here(knowledge: Knowledge) -> list[Group]:
    """The GPUs of this machine, as the first program that is here lists them. Raises InputError where none does."""
    for program in PROGRAMS:
        groups = grouped_devices(read_devices(_printed_by(program)), knowledge)
        if program[0] == "lspci":  # It lists every display there is.
            groups = [group for group in groups if group.gpu is not None]
        if groups:
            return groups
    raise InputError(NOTHING_FOUND)


def owned_here(knowledge: Knowledge) -> str:
    """The GPUs of this machine as a change to a workload. Raises InputError where the catalogue has none of them."""
    fix = "state the GPUs instead, for example: --set gpus_owned='2 x rtx 4090'"
    try:
        groups = groups_here(knowledge)
    except InputError as error:
        raise InputError([replace(problem, fix=fix) for problem in error.problems]) from error
    known = [f"{group.gpu.id}:{group.count}" for group in groups if group.gpu is not None]
    if not known:
        listed = ", ".join(group.devices[0].name for group in groups)
        raise InputError(
            Problem("no-gpu-here", f"the catalogue has none of the GPUs of this machine: {listed}", fix=fix)
        )
    return f"gpus_owned={', '.join(known)}"


def grouped_devices(devices: Iterable[Device], knowledge: Knowledge) -> list[Group]:
    """Devices of the same kind together, the most memory first, those without an entry last."""
    kinds: dict[str, list[Device]] = {}
    entries: dict[str, tuple[Gpu | None, tuple[str, ...]]] = {}
    for device in devices:
        gpu, nearest = entry_of(device, knowledge)
        key = gpu.id if gpu is not None else device.name
        kinds.setdefault(key, []).append(device)
        entries[key] = gpu, nearest
    groups = [
        Group(entries[key][0], tuple(found), max(each.used_mib or 0.0 for each in found) / _MIB_PER_GB, entries[key][1])
        for key, found in kinds.items()
    ]
    return sorted(groups, key=lambda group: -_memory_gb(group))


def entry_of(device: Device, knowledge: Knowledge) -> tuple[Gpu | None, tuple[str, ...]]:
    """The accelerator that a device is, by its name and the memory that it reports; else ids that may be meant."""
    match = knowledge.find_gpu(device.name)
    if not match.found:
        shorter = _BESIDE_THE_POINT.sub("", device.name)
        match = knowledge.find_gpu(shorter) if shorter != device.name else match
    if not match.found:
        return None, match.nearest
    series = {knowledge.gpus[gpu_id].series for gpu_id in match.ids}
    named = [knowledge.gpus[gpu_id] for gpu_id in match.ids]
    siblings = [gpu for gpu in knowledge.gpus.values() if gpu.series in series and gpu not in named]
    if device.memory_mib is None:
        return (named[0], ()) if len(named) == 1 else (None, match.ids)
    fitting = [gpu for gpu in named if _has_memory(gpu, device.memory_mib)]
    fitting = fitting or [gpu for gpu in siblings if _has_memory(gpu, device.memory_mib)]
    return (fitting[0], ()) if fitting else (None, match.ids)


def _has_memory(gpu: Gpu, memory_mib: float) -> bool:
    sizes = [size for size in (gpu.device_mib, gpu.vram_gb and gpu.vram_gb * 1024.0) if size]
    return any(abs(memory_mib / size - 1.0) <= _SAME_MEMORY for size in sizes)


def _memory_gb(group: Group) -> float:
    return (group.gpu.usable_gb or 0.0) * group.count if group.gpu is not None else -1.0


def _printed_by(program: tuple[str, ...]) -> str:
    """What a program prints; nothing where it is not here, fails or hangs."""
    path = shutil.which(program[0])
    if path is None:
        return ""
    try:
        ran = subprocess.run(  # noqa: S603 - fixed programs with fixed arguments.
            [path, *program[1:]], capture_output=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode("utf-8", "replace") if ran.returncode == 0 else ""
