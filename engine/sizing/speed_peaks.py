"""What arithmetic and memory rates a job can count on: the peak of the right precision and the share of it in reach."""

from __future__ import annotations

from typing import NamedTuple

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Banded, Pick
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.speed_constants import speed_constants


class Peak(NamedTuple):
    """A dense peak and the share of it that large matrix products reach."""

    precision: str
    flops: float  # per second
    share: float


_FOUR_BIT_FLOATS = frozenset({"fp4", "nvfp4", "mxfp4"})
_SIXTEEN = ("bf16", "fp16")
#: Formats of weights whose products run in fewer than 16 bits where a GPU can.
NARROW = frozenset({"fp4", "fp8", "int8"})
_UNPACKED = frozenset({"int4", "gptq-int4", "awq-int4", "gptq-int8", "nf4", "nf4-dq"})


def peak_of(gpu: Gpu, precisions: tuple[str, ...]) -> Peak | None:
    """The first of the precisions that the GPU has; None when it has none of them.

    Products of 16-bit numbers are summed in 32 bits (cuBLAS as PyTorch calls it), so that a card which is slower at
    16-bit arithmetic, as the GTX 10 generation is, computes them at its 32-bit rate.
    """
    for precision in precisions:
        tflops = gpu.tflops.get(precision)
        if tflops:
            wider = gpu.tflops.get("fp32", 0.0)
            if precision in _SIXTEEN and tflops < wider:
                return Peak("fp32", wider * 1e12, _matmul_share(gpu, "fp32"))
            return Peak(precision, tflops * 1e12, _matmul_share(gpu, precision))
    return None


def serving_precisions(weight_precision: str) -> tuple[str, ...]:
    """Precisions in which products of these weights run, best first; fp32 always works."""
    if weight_precision in _FOUR_BIT_FLOATS:
        return ("fp4", *_SIXTEEN, "fp32")
    if weight_precision == "fp8":
        return ("fp8", *_SIXTEEN, "fp32")
    if weight_precision == "int8":
        return ("int8", *_SIXTEEN, "fp32")
    if weight_precision == "fp32":
        return ("tf32", "fp32", *_SIXTEEN)
    if weight_precision == "fp16":
        return ("fp16", "bf16", "fp32")
    return (*_SIXTEEN, "fp32")


def training_precisions(job: Job) -> tuple[str, ...]:
    """Precisions of the training arithmetic, best first."""
    if job.compute_precision == "fp8":
        return ("fp8", *_SIXTEEN, "fp32")
    if job.compute_precision == "fp32" or job.recipe == "fp32":
        return ("tf32", "fp32", *_SIXTEEN) if job.compute_precision != "fp32" else ("fp32", "tf32", *_SIXTEEN)
    if job.compute_precision == "fp16":
        return ("fp16", "bf16", "fp32")
    return (*_SIXTEEN, "fp32")


def bandwidth_use(gpu: Gpu) -> Banded:
    """Share of the peak memory bandwidth that decoding reaches, by kind of memory."""
    table = speed_constants().memory_bandwidth_use
    kind = (gpu.mem_type or "").casefold()
    if kind.startswith("hbm"):
        return table["hbm"]
    if kind.startswith("gddr"):
        return table["gddr"]
    return table["lpddr"] if kind.startswith(("lpddr", "ddr")) else table["hbm"]


def is_gguf(weight_precision: str) -> bool:
    """Whether the weights are in one of llama.cpp's formats."""
    return weight_precision.startswith(("q", "iq"))


def is_unpacked(weight_precision: str) -> bool:
    """Whether kernels unpack the weights to sixteen bits before each product."""
    return weight_precision in _UNPACKED


def unpacking_share(gpu: Gpu) -> Banded | None:
    """Share of its rate that kernels reach which unpack weights; None where they are as fast as any."""
    # Tensor cores with memory of their own are programmed in another way, which those kernels do not use.
    tensor_memory = 10 <= (gpu.compute_capability or 0) < 12
    return speed_constants().matmul_share["unpacked"] if tensor_memory else None


def _matmul_share(gpu: Gpu, precision: str) -> float:
    measured = gpu.achieved.get(precision) or (gpu.achieved.get("bf16") if precision == "fp16" else None)
    if measured:
        return min(1.0, measured)
    shares = speed_constants().matmul_share
    # What cards of the same architecture reach was measured of products in tensor cores.
    segment = f"{gpu.vendor}-{gpu.segment}"
    same_architecture = () if precision == "fp32" else (f"{segment}-{gpu.architecture}", segment)
    return next(shares[name] for name in (*same_architecture, gpu.vendor, "default") if name in shares).value


def training_use(gpu: Gpu, pick: Pick) -> float:
    """Share of the dense peak that large micro-batches reach in training at 16 bits, by generation."""
    return speed_constants().training_use[_generation(gpu)].at(pick)


def _generation(gpu: Gpu) -> str:
    if gpu.series == "nvidia-a100":
        return "a100"
    if gpu.vendor == "amd" and gpu.segment == "datacenter":
        return "amd"
    if gpu.segment == "datacenter" and gpu.architecture in {"hopper", "blackwell"}:
        return gpu.architecture
    return "other"


def of_a_known_generation(gpu: Gpu) -> bool:
    """Whether training was measured on its kind."""
    return _generation(gpu) != "other"
