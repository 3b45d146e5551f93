"""The door of memory sizing: what a job takes on each GPU of a layout."""

from __future__ import annotations

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.generators import generator_memory
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.model import MemoryEstimate
from whichgpu.engine.sizing.model import TermKind
from whichgpu.engine.sizing.networks import network_memory
from whichgpu.engine.sizing.serving import GIB
from whichgpu.engine.sizing.serving import granted_gb
from whichgpu.engine.sizing.serving import kept_free_gb
from whichgpu.engine.sizing.serving import reserve_of
from whichgpu.engine.sizing.serving import serving_memory
from whichgpu.engine.sizing.training import training_memory


ONE_GPU = Layout()
#: What estimates of memory read of a GPU.
Card = tuple[str | None, bool]
_STATED = TermKind(
    "stated",
    "memory the workload states or a guide's table gives, over the GPUs",
    ("stated_gb", "ranks"),
    "the workload",
)


def estimate_memory(job: Job, gpu: Gpu, layout: Layout) -> MemoryEstimate | None:
    """Device memory at peak on the fullest GPU, in decimal GB, with a band; None if neither model nor memory is known.

    Of the GPU it depends on nothing but ``card_of(gpu)``.
    """
    if job.params_b is None:
        return _stated(job, layout)
    if job.shape is not None:
        if job.training:
            return training_memory(job, job.shape, layout, context_gb(gpu))
        return serving_memory(job, job.shape, layout, small_card=is_small(gpu))
    if job.family in {"diffusion_image", "diffusion_video"}:
        return generator_memory(job, layout, context_gb(gpu))
    return network_memory(job, layout, context_gb(gpu))


def card_of(gpu: Gpu) -> Card:
    """What an estimate reads of a GPU: the architecture, for the driver's context, and whether it is a small card."""
    return gpu.architecture, is_small(gpu)


def is_small(gpu: Gpu) -> bool:
    """Serving engines take smaller steps on this card."""
    if gpu.usable_gb is None:
        return False
    return gpu.usable_gb < sizing_constants().large_card_gb.value or gpu.series == "nvidia-a100"


def granted_of(job: Job, gpu: Gpu) -> float | None:
    """What the job may take of the card in GB; None where the card's memory is not known."""
    return None if gpu.usable_gb is None else granted_gb(job, gpu.usable_gb)


def own_gb(job: Job, gpu: Gpu) -> float:
    """The part of an estimate that depends on the card, in GB: the driver's context, or what an engine keeps free."""
    if job.training or job.shape is None:
        return context_gb(gpu)
    if reserve_of(job.engine, job.engine_version).activation_gib <= 0:
        return 0.0
    return kept_free_gb(job, job.shape, ONE_GPU, small_card=is_small(gpu))


def context_gb(gpu: Gpu) -> float:
    """The driver's context on a GPU, in GB."""
    context = sizing_constants().context
    return context.by_architecture.get(gpu.architecture or "", context.default_gib) * GIB


def typical_memory(job: Job) -> float | None:
    """What the job takes on one GPU of no particular make, in GB; None where it cannot be sized."""
    if job.params_b is None or job.shape is None:
        return None
    context = sizing_constants().context.default_gib * GIB
    if job.training:
        return training_memory(job, job.shape, ONE_GPU, context).per_gpu_gb
    return serving_memory(job, job.shape, ONE_GPU).per_gpu_gb


def _stated(job: Job, layout: Layout) -> MemoryEstimate | None:
    if job.stated_gb is None:
        return None
    splits = layout.tensor * layout.pipeline
    if job.training and layout.sharding in {"zero3", "fsdp"}:
        splits *= layout.data
    value = job.stated_gb / splits
    high = (job.stated_high_gb or job.stated_gb) / splits
    return MemoryEstimate(
        per_gpu_gb=value,
        low_gb=value,
        high_gb=max(value, high),
        allocated_gb=value,
        parts=((_STATED, value, (job.stated_gb, splits)),),
        band_reason="as stated" if job.stated_high_gb is None else "the band that the guides name",
        method="stated" if job.stated_high_gb is None else "rule of thumb",
    )
