"""GPUs as columns: what each delivers in arithmetic and memory bandwidth, for formulas that run over all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Pick, column_of_numbers, named
from whichgpu.engine.sizing.rows import Bools, Floats, Ints
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import host_link_gbs
from whichgpu.engine.sizing.speed_peaks import (
    Peak,
    bandwidth_use,
    of_a_known_generation,
    peak_of,
    training_use,
    unpacking_share,
)


class Peaks(NamedTuple):
    """Dense peaks of GPUs and the share of them that large matrix products reach; NaN where a GPU has none."""

    flops: Floats  # per second
    share: Floats
    of_fp32: Floats  # 1 where the arithmetic is FP32, else 0

    def take(self, which: Ints) -> Peaks:
        """The peaks of some GPUs, by their positions in the table."""
        return Peaks(*(column[which] for column in self))


class GpuTable:
    """Figures of GPUs by their position. A column is read once for all of them and kept, as GPUs do not change."""

    def __init__(self, gpus: Sequence[Gpu]) -> None:
        self.gpus = tuple(gpus)
        self.position = {gpu.id: place for place, gpu in enumerate(self.gpus)}
        self.ids = tuple(self.position)
        self.families = tuple(gpu.family for gpu in self.gpus)
        self._columns: dict[Hashable, Floats] = {}
        self._peaks: dict[tuple[str, ...], Peaks] = {}

    def column(self, name: Hashable, read: Callable[[Gpu], float | None]) -> Floats:
        """What ``read`` gives for each GPU, NaN where it gives nothing; the same name always stands for the same."""
        if name not in self._columns:
            values = (read(gpu) for gpu in self.gpus)
            found = column_of_numbers(np.nan if value is None else value for value in values)
            self._columns[name] = named(found.astype(np.float64), f"gpu.{name[0] if isinstance(name, tuple) else name}")
        return self._columns[name]

    def vram_gb(self) -> Floats:
        """Memory as sold, in GB; NaN where it is not known."""
        return self.column("vram_gb", lambda gpu: gpu.vram_gb)

    def usable_gb(self) -> Floats:
        """Memory that a GPU can give, in decimal GB; NaN where it is not known."""
        return self.column("usable_gb", lambda gpu: gpu.usable_gb)

    def bandwidth(self) -> Floats:
        """Peak memory bandwidth in bytes per second; NaN where it is not known."""
        return self.column("bandwidth", lambda gpu: gpu.mem_bw_tbs * 1e12 if gpu.mem_bw_tbs else None)

    def bandwidth_in_reach(self, pick: Pick) -> Floats:
        """Memory bandwidth that decoding reaches, in bytes per second."""
        return self.bandwidth() * self.column(("bandwidth_use", pick), lambda gpu: bandwidth_use(gpu).at(pick))

    def host_bandwidth(self, pick: Pick) -> Floats:
        """What comes to each GPU from the memory of the host, in bytes per second."""
        share = speed_constants().offload.bus_share.at(pick)
        return self.column(("host_bandwidth", pick), lambda gpu: host_link_gbs(gpu) * 1e9 * share)

    def unpacking(self, pick: Pick) -> Floats:
        """Share of the rate of products that kernels reach which unpack their weights."""

        def share(gpu: Gpu) -> float:
            found = unpacking_share(gpu)
            return found.at(pick) if found else 1.0

        return self.column(("unpacking", pick), share)

    def training_use(self, pick: Pick) -> Floats:
        """Share of the dense peak that large micro-batches reach in training at 16 bits."""
        return self.column(("training_use", pick), lambda gpu: training_use(gpu, pick))

    def of_a_known_generation(self) -> Bools:
        """Whose training was measured on the generation."""
        return self.column("known_generation", of_a_known_generation) > 0

    def peaks(self, precisions: tuple[str, ...]) -> Peaks:
        """The peak of each GPU in the first of the precisions that it has."""
        if precisions not in self._peaks:
            none = Peak("", np.nan, np.nan)
            found = [peak_of(gpu, precisions) or none for gpu in self.gpus]
            peaks = Peaks(
                column_of_numbers(peak.flops for peak in found),
                column_of_numbers(peak.share for peak in found),
                np.array([peak.precision == "fp32" for peak in found], np.float64),
            )
            self._peaks[precisions] = named(peaks, "gpu.peak")
        return self._peaks[precisions]
