"""How much of a device's memory a job can really have."""

from __future__ import annotations

from collections.abc import Mapping

from whichgpu.engine.catalogue.model import MemoryReserve


#: Decimal gigabytes per MiB.
GB_PER_MIB = 1.048576e-3

#: Where no reading exists: marketed "GB" are GiB, and drivers show about 1.5 % less than that on the cards seen.
_GIB_IN_GB = 1.0737
_TYPICAL_SHARE = 0.985


def usable_from_reading(
    device_mib: int | None, cuda_mib: int | None, vendor: str, reserves: Mapping[str, MemoryReserve]
) -> float | None:
    """Usable memory in decimal GB from what a driver was seen to report, or None without a reading.

    Args:
        device_mib: memory of the device in MiB, as the vendor's tool shows it.
        cuda_mib: memory that CUDA offers a process in MiB; when known, nothing more is deducted.
        vendor: whose reserve to deduct; a vendor without an entry reserves nothing.
        reserves: reserve by vendor.

    Source of the formula: knowledge/memory_reserve.yaml.
    """
    if cuda_mib is not None:
        return cuda_mib * GB_PER_MIB
    if device_mib is None:
        return None
    reserve = reserves.get(vendor)
    kept = reserve.base_mib + reserve.share * device_mib if reserve else 0.0
    return (device_mib - kept) * GB_PER_MIB


def usable_assumed(vram_gb: float) -> float:
    """Usable memory in decimal GB where only the marketed figure is known: marketed x 1.0737 x 0.985."""
    return vram_gb * _GIB_IN_GB * _TYPICAL_SHARE
