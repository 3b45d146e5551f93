"""The ``gpu.*`` facts of an accelerator as rules read them. What is not known is absent."""

from __future__ import annotations

import re

from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.core import Value


_FP8_SINCE = 8.9  # NVIDIA compute capability: Ada Lovelace and later
_BF16_SINCE = 8.0  # Ampere and later
_INT8_TENSOR_SINCE = 7.5  # Turing and later
_AMD_WITHOUT_FP8 = frozenset({"cdna_1", "cdna_2", "rdna_3"})
_FASTER = 1.2  # Rates closer than this count as the same: clocks and rounding differ between data sheets.

#: The figures of the catalogue that a fact is read from, where they are not called as it is.
_FIGURES = {
    "gpu.usable_gb": ("usable_gb", "cuda_mib", "device_mib", "vram_gb"),
    "gpu.fp32_tflops": ("tflops.fp32",),
    "gpu.fp16_tflops": ("tflops.fp16",),
    "gpu.bf16_tflops": ("tflops.bf16",),
    "gpu.fp8_tflops": ("tflops.fp8",),
    "gpu.int8_tops": ("tflops.int8",),
    "gpu.fp4_tflops": ("tflops.fp4",),
    "gpu.tensor_cores": ("matrix_units", "compute_capability"),
    "gpu.supports_fp16_fast": ("tflops.fp16", "tflops.bf16", "tflops.fp32", "compute_capability"),
    "gpu.supports_bf16": ("tflops.bf16", "compute_capability"),
    "gpu.supports_fp8": ("tflops.fp8", "compute_capability"),
    "gpu.supports_int8_fast": ("tflops.int8", "tflops.fp16", "compute_capability"),
    "gpu.link": ("link", "link_gbs"),
    "gpu.nvlink": ("link", "link_gbs"),
    "gpu.mig": ("mig_max", "mig_profiles"),
    "gpu.launch_year": ("launch",),
    "gpu.retail_available": ("retail",),
}
#: What a database that lists a card says of it first.
_LISTED_WITH = ("vram_gb", "compute_capability")


def sources_of_fact(gpu: Gpu, fact: str) -> tuple[str, ...]:
    """The sources of the figures that a ``gpu.*`` fact is read from.

    What has no figure (vendor, architecture, software, what it is sold as) is as in the databases that list the card.

    Args:
        gpu: the accelerator.
        fact: with its dot, ``gpu.mem_bw_tbs``.
    """
    figures = _FIGURES.get(fact, (fact.removeprefix("gpu."),))
    for read in (figures, _LISTED_WITH, tuple(gpu.evidence)):
        if cited := dict.fromkeys(source for figure in read for source in gpu.evidence.get(figure, ())):
            return tuple(cited)
    return ()


def gpu_facts(gpu: Gpu) -> dict[str, Value]:
    """All known ``gpu.*`` facts; units as in their names."""
    facts: dict[str, Value | None] = {
        "gpu.id": gpu.id,
        "gpu.name": gpu.name,
        "gpu.family": gpu.family,
        "gpu.series": gpu.series,
        "gpu.vendor": gpu.vendor,
        "gpu.architecture": gpu.architecture,
        "gpu.segment": gpu.segment,
        "gpu.form_factor": gpu.form_factor,
        "gpu.vram_gb": gpu.vram_gb,
        "gpu.usable_gb": gpu.usable_gb,
        "gpu.mem_type": gpu.mem_type,
        "gpu.mem_bw_tbs": gpu.mem_bw_tbs,
        "gpu.fp32_tflops": gpu.tflops.get("fp32"),
        "gpu.fp16_tflops": gpu.tflops.get("fp16"),
        "gpu.bf16_tflops": gpu.tflops.get("bf16"),
        "gpu.fp8_tflops": gpu.tflops.get("fp8"),
        "gpu.int8_tops": gpu.tflops.get("int8"),
        "gpu.fp4_tflops": gpu.tflops.get("fp4"),
        "gpu.tensor_cores": gpu.matrix_units,
        "gpu.supports_fp16_fast": _fast_fp16(gpu),
        "gpu.supports_bf16": _supports(gpu, "bf16", _BF16_SINCE),
        "gpu.supports_fp8": _fp8(gpu),
        "gpu.supports_int8_fast": _fast_int8(gpu),
        "gpu.link": gpu.link,
        "gpu.link_gbs": gpu.link_gbs,
        "gpu.nvlink": gpu.link in {"nvlink", "nvlink-bridge"},
        "gpu.mig": gpu.mig_max > 0,
        "gpu.ecc": gpu.ecc,
        "gpu.unified_memory": gpu.unified_memory,
        "gpu.tdp_w": gpu.tdp_w,
        "gpu.buy_usd": gpu.buy_usd,
        "gpu.retail_available": gpu.retail,
        "gpu.sold_in_china_only": "(China)" in (gpu.sold_as or ""),
        "gpu.generation_lag": gpu.generation_lag,
        "gpu.sw_stack": gpu.sw_stack,
        "gpu.launch_year": _year(gpu.launch),
        "gpu.plannable": gpu.plannable,
        "gpu.compute_capability": gpu.compute_capability,
    }
    return {**gpu.facts, **{name: value for name, value in facts.items() if value is not None}}


def _fast_fp16(gpu: Gpu) -> bool | None:
    """16-bit arithmetic clearly faster than 32-bit."""
    half = max(gpu.tflops.get("fp16", 0.0), gpu.tflops.get("bf16", 0.0))
    single = gpu.tflops.get("fp32")
    if half and single:
        return half > single * _FASTER
    if half or gpu.compute_capability is None:
        return True if half else None
    # GeForce and Tesla before Volta run FP16 at a fraction of FP32, but for P100, which has its own figure.
    return gpu.compute_capability >= 7.0


def _supports(gpu: Gpu, precision: str, since: float) -> bool | None:
    """By its data sheet, else by its compute capability."""
    if precision in gpu.tflops:
        return True
    return None if gpu.compute_capability is None else gpu.compute_capability >= since


def _fp8(gpu: Gpu) -> bool | None:
    found = _supports(gpu, "fp8", _FP8_SINCE)
    return False if found is None and gpu.architecture in _AMD_WITHOUT_FP8 else found


def _fast_int8(gpu: Gpu) -> bool | None:
    """8-bit integers clearly faster than 16-bit."""
    int8 = gpu.tflops.get("int8")
    half = max(gpu.tflops.get("fp16", 0.0), gpu.tflops.get("bf16", 0.0))
    if int8 is not None and half:
        return int8 > half * _FASTER
    if int8 is None and gpu.vendor == "nvidia" and gpu.matrix_units is not None and gpu.compute_capability is not None:
        if gpu.matrix_units:
            return gpu.compute_capability >= _INT8_TENSOR_SINCE
        # Six-one and Turing without tensor cores have a fast four-way integer product whose rate was not gathered.
        return None if gpu.compute_capability >= 6.1 else False
    return None


def _year(launch: str | None) -> int | None:
    found = re.match(r"\d{4}", launch or "")
    return int(found[0]) if found else None
