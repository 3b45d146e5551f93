"""Entry point of memory sizing: what a job takes on each GPU of a layout."""

from __future__ import annotations

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import as_number
from whichgpu.engine.sizing.bands import banded
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.generators import generator_memory
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.model import Band, MemoryColumns, MemoryEstimate, PartColumn, TermKind
from whichgpu.engine.sizing.networks import network_memory
from whichgpu.engine.sizing.rows import Bools, Floats, Rows, rows_of
from whichgpu.engine.sizing.serving import granted_gb, serving_memory
from whichgpu.engine.sizing.serving_reserve import GIB, kept_free_gb, reserve_of
from whichgpu.engine.sizing.states import shards
from whichgpu.engine.sizing.training import training_memory
from whichgpu.engine.sizing.versions import older


_STATED = TermKind(
    "stated",
    "memory the workload states or a guide's table gives, over the GPUs",
    ("stated_gb", "ranks"),
    "the workload",
)


def memory_columns(job: Job, rows: Rows) -> MemoryColumns | None:
    """Device memory at peak on the fullest GPU of each row, in decimal GB, with a band.

    None where neither the size of the model nor its memory is known.
    """
    if job.params_b is None:
        return _stated(job, rows)
    rows = rows._replace(context_gb=_loaded_gb(job, rows.context_gb))
    if job.shape is not None:
        found = (training_memory if job.training else serving_memory)(job, job.shape, rows)
    elif job.family in {"diffusion_image", "diffusion_video"}:
        found = generator_memory(job, rows)
    else:
        found = network_memory(job, rows)
    return banded(job, found)


def estimate_memory(job: Job, gpu: Gpu, layout: Layout) -> MemoryEstimate | None:
    """Memory of one plan."""
    usable = np.inf if gpu.usable_gb is None else gpu.usable_gb
    found = memory_columns(job, rows_of([layout], batch_of(job), context_gb(gpu), is_small(gpu), usable))
    return None if found is None else found.row(0)


def batch_of(job: Job) -> int:
    """What a row's ``batch`` is for the job as stated."""
    return job.micro_batch if job.training else job.concurrency


def is_small(gpu: Gpu) -> bool:
    """Serving engines take smaller steps on this card."""
    if gpu.usable_gb is None:
        return False
    return gpu.usable_gb < sizing_constants().large_card_gb.value or gpu.series == "nvidia-a100"


def granted_of(job: Job, gpu: Gpu) -> float | None:
    """What the job may take of the card in GB; None where the card's memory is not known."""
    return None if gpu.usable_gb is None else float(granted_gb(job, gpu.usable_gb))


def granted_column(job: Job, gpus: GpuTable) -> Floats:
    """What the job may take of each GPU in GB; NaN where its memory is not known."""
    granted: Floats = granted_gb(job, gpus.usable_gb())
    return granted


def own_column(job: Job, gpus: GpuTable, tensor: int = 1) -> Floats:
    """The part of an estimate that depends on the card, in GB: the driver's context, or what an engine keeps free.

    Args:
        job: what is sized.
        gpus: the cards.
        tensor: ranks of a layer, among which an engine's forward pass is split.
    """
    context, small = card_columns(gpus)
    if job.training or job.shape is None:
        return _loaded_gb(job, context)
    if not reserve_of(job.engine, job.engine_version).keeps_free:
        return np.zeros(len(small))
    one = np.ones_like(small, np.int64)
    rows = Rows(tensor * one, one, one, np.zeros_like(one), one, np.zeros(len(one)), small)
    own: Floats = kept_free_gb(job, job.shape, rows)
    return own


def card_columns(gpus: GpuTable) -> tuple[Floats, Bools]:
    """What rows read of each GPU: the driver's context on it in GB, and whether it is a small card."""
    return gpus.column("context_gb", context_gb), gpus.column("small_card", is_small) > 0


def _loaded_gb(job: Job, context: Floats) -> Floats:
    """The driver's context under the job's PyTorch: old ones load every kernel into it."""
    known = sizing_constants().context
    if not older(job.pytorch_version, known.eager_before):
        return context
    if older(job.pytorch_version, known.eager_smaller_before):
        whole: Floats = np.maximum(context, known.eager_gib * GIB)
        return whole
    return context + known.eager_more_gib * GIB


def context_gb(gpu: Gpu) -> float:
    """The driver's context on a GPU, in GB."""
    context = sizing_constants().context
    return context.by_architecture.get(gpu.architecture or "", context.default_gib) * GIB


def typical_memory(job: Job) -> float | None:
    """What the job takes on one GPU of no particular make, in GB; None where it cannot be sized."""
    if job.params_b is None or job.shape is None:
        return None
    context = sizing_constants().context.default_gib * GIB
    found = memory_columns(job, rows_of([Layout()], batch_of(job), context))
    return None if found is None else as_number(found.per_gpu_gb[0])


def _stated(job: Job, rows: Rows) -> MemoryColumns | None:
    if job.stated_gb is None:
        return None
    splits = rows.tensor * rows.pipeline
    if job.training:
        splits = splits * shards(rows)[0]
    value = job.stated_gb / splits
    band = Band(
        low_gb=value,
        high_gb=np.maximum(value, (job.stated_high_gb or job.stated_gb) / splits),
        reason="as stated" if job.stated_high_gb is None else "the band that the guides name",
    )
    return MemoryColumns(
        per_gpu_gb=value,
        find_band=lambda: band,
        allocated_gb=value,
        parts=(PartColumn(_STATED, value, (job.stated_gb, splits)),),
        method="stated" if job.stated_high_gb is None else "rule of thumb",
    )
