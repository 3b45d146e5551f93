"""How GPUs of one kind are joined: machines, links inside and between them, and the counts one can really have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import kept_in_use
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.sizing import Bools, Ints, ceiling


_FAST = frozenset({"nvlink", "xgmi", "ici", "neuronlink", "roce"})
_NETWORKED = frozenset({"nvlink-bridge", "xgmi", "xgmi-bridge", "roce"})
_DESK = frozenset({"consumer", "professional", "edge"})


class Fabric(NamedTuple):
    """What of a GPU's record decides how several of it are joined."""

    link: str
    domain: int  # GPUs that the link joins
    machine: int  # GPUs that work as one machine: a node, or a rack joined by the same link
    node_gpus: int  # GPUs of one server, the unit of rental
    node_link: str  # what joins machines
    fast: bool
    most: int  # as many as anyone joins, whatever the job

    def nodes(self, count: int) -> int:
        """Machines for so many GPUs."""
        return -(-count // self.machine)

    def link_of(self, count: int) -> str:
        """The link that all GPUs of one machine of the plan share. A bridge joins only its few cards."""
        inside = min(count, self.machine)
        if inside <= 1:
            return "none"
        return self.link if inside <= self.domain else "pcie"

    def node_link_of(self, count: int) -> str:
        """The network between the machines of the plan."""
        return self.node_link if count > self.machine else "none"


def fabric_of(gpu: Gpu, *, desk: bool = False) -> Fabric:
    """The fabric of a GPU; at a desk no more cards than a workstation holds."""
    domain = gpu.link_domain or (gpu.node_gpus if gpu.link in {"pcie", *_FAST} else 2)
    return _fabric(gpu.link, domain, gpu.node_gpus, gpu.segment or "", desk)


@kept_in_use
def _fabric(link: str, domain: int, node_gpus: int, segment: str, desk: bool) -> Fabric:
    constants = plan_constants()
    fast = link in _FAST
    machine = max(node_gpus, domain) if fast else node_gpus
    most = 1_000_000 if fast else constants.most_slow_link.value
    if link in {"none", "ethernet"} and segment != "datacenter":
        machine = node_gpus = 1
        most = 2 if link == "ethernet" else 1  # Boards and laptops; two Sparks can be cabled together.
    elif segment in _DESK:
        machine = node_gpus = min(machine, constants.most_in_a_desk.value if desk else constants.most_consumer.value)
        most = machine
    return Fabric(link, min(domain, machine), machine, node_gpus, _node_link(link), fast, most)


def _node_link(link: str) -> str:
    """What can be rented between machines."""
    if link in {"ici", "neuronlink"}:
        return link
    if link == "nvlink":
        return "infiniband"
    return "roce" if link in _NETWORKED else "ethernet"


@cache
def ladder(machine: int, most: int, *, every: bool = False) -> tuple[int, ...]:
    """Counts worth trying: powers of two inside a machine and the full machine, then doublings of machines.

    Args:
        machine: GPUs of a machine.
        most: no more GPUs than this.
        every: each count inside a machine, not its powers of two alone.
    """
    counts = {min(machine, most)} if machine <= most else set()
    count = 1
    while count <= min(machine, most):
        counts.add(count)
        count = count + 1 if every else count * 2
    count = machine * 2
    while count <= most:
        counts.add(count)
        count *= 2
    return tuple(sorted(counts))


@cache
def counts_of(machine: int, most: int, together: int, *, every: bool = False) -> tuple[int, ...]:
    """The ladder as far as its counts are multiples of the GPUs that stated degrees of parallelism take together.

    The least multiple belongs to it. Degrees that ask for more than ``most`` bind nothing.
    """
    counts = ladder(machine, most, every=every)
    if together <= 1 or together > most:
        return counts
    return tuple(sorted({together, *(count for count in counts if count % together == 0)}))


class FabricTable:
    """Fabrics as columns, by their position: the counts worth trying on each, and how far a layer may be split."""

    def __init__(self, fabrics: Sequence[Fabric], most: int, together: int = 1, *, every: bool = False) -> None:
        """Read the fabrics.

        Args:
            fabrics: how GPUs are joined.
            most: no more GPUs than this, on any of them.
            together: counts are multiples of this, as far as that is possible.
            every: any count inside a machine is worth trying.
        """
        self.most = np.array([min(most, fabric.most) for fabric in fabrics], np.int64)
        self.node_gpus = np.array([fabric.node_gpus for fabric in fabrics], np.int64)
        self.machine = np.array([fabric.machine for fabric in fabrics], np.int64)
        self._boards = np.array([fabric.fast for fabric in fabrics], np.bool_)
        #: Over how many GPUs the fabric's own link carries the split of a layer, which PCIe does not as well.
        self._linked = np.array([0 if fabric.link == "pcie" else fabric.domain for fabric in fabrics], np.int64)
        ends = list(zip(self.node_gpus.tolist(), self.most.tolist(), strict=True))
        #: A row for each fabric, smallest count first, with zeros behind the largest.
        self.counts = _padded([counts_of(*pair, together, every=every) for pair in ends])
        #: The same without regard to what is taken together.
        self.ladders = self.counts if together == 1 else _padded([ladder(*pair, every=every) for pair in ends])
        bound = np.where(together <= self.most, together, 1)
        self._inside = np.maximum(self.node_gpus, bound)
        self._unit = np.lcm(self.node_gpus, bound)

    def rounded_up(self, fabric: Ints, count: Ints) -> Ints:
        """The next count that one can have: inside a machine of the table, beyond it whole machines.

        Args:
            fabric: by its position, for each count.
            count: at least so many.

        Returns:
            0 where there is none up to the most.
        """
        steps = self.counts[fabric]
        enough = steps >= count[:, None]
        step = np.take_along_axis(steps, enough.argmax(1)[:, None], 1)[:, 0]
        whole = ceiling(count, self._unit[fabric]) * self._unit[fabric]
        inside = np.where(enough.any(1), step, 0)
        return np.where(count <= self._inside[fabric], inside, np.where(whole <= self.most[fabric], whole, 0))

    def part_of_a_board(self, fabric: Ints, count: Ints) -> Bools:
        """Whether so many are rented as more: modules of one board come in powers of two, or as the whole board."""
        part: Bools = self._boards[fabric] & (count < self.node_gpus[fabric]) & (count & (count - 1) > 0)
        return part

    def tensor_most(self, fabric: Ints, count: Ints) -> Ints:
        """Over how many of so many GPUs a layer may be split: inside one machine, further only over a fast link."""
        constants = plan_constants()
        inside = np.minimum(count, self.machine[fabric])
        linked = inside <= self._linked[fabric]
        most: Ints = np.minimum(inside, np.where(linked, constants.tensor_most.value, constants.tensor_on_pcie.value))
        return most


def _padded(each: Sequence[Sequence[int]]) -> Ints:
    return np.array(list(zip_longest(*each, fillvalue=0)), np.int64).T
