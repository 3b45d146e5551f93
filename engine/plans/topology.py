"""How GPUs of one kind are joined: machines, links inside and between them, and the counts one can really have."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.plans.constants import plan_constants


_FAST = frozenset({"nvlink", "xgmi", "ici", "neuronlink", "roce"})
_NETWORKED = frozenset({"nvlink-bridge", "xgmi", "xgmi-bridge", "roce"})
_DESK = frozenset({"consumer", "professional", "edge"})


class Fabric(NamedTuple):
    """What of a GPU's record decides how copies of it are joined."""

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

    def tensor_most(self, count: int) -> int:
        """Over how many GPUs a layer may be split: inside one machine, further only over a fast link."""
        constants = plan_constants()
        inside = min(count, self.machine)
        if inside <= self.domain and self.link != "pcie":
            return min(inside, constants.tensor_most.value)
        return min(inside, constants.tensor_on_pcie.value)


def fabric_of(gpu: Gpu, *, desk: bool = False) -> Fabric:
    """The fabric of a GPU; at a desk no more cards than a workstation holds."""
    domain = gpu.link_domain or (gpu.node_gpus if gpu.link in {"pcie", *_FAST} else 2)
    return _fabric(gpu.link, domain, gpu.node_gpus, gpu.segment or "", desk)


@cache
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
def ladder(machine: int, most: int) -> tuple[int, ...]:
    """Counts worth trying: powers of two inside a machine and the full machine, then doublings of machines."""
    counts = {min(machine, most)} if machine <= most else set()
    count = 1
    while count <= min(machine, most):
        counts.add(count)
        count *= 2
    count = machine * 2
    while count <= most:
        counts.add(count)
        count *= 2
    return tuple(sorted(counts))


@cache
def counts_of(machine: int, most: int, together: int) -> tuple[int, ...]:
    """The ladder as far as its counts are multiples of the GPUs that stated degrees of parallelism take together.

    The least multiple belongs to it. Degrees that ask for more than ``most`` bind nothing.
    """
    counts = ladder(machine, most)
    if together <= 1 or together > most:
        return counts
    return tuple(sorted({together, *(count for count in counts if count % together == 0)}))


def rounded_up(count: int, machine: int, most: int, together: int = 1) -> int | None:
    """The next count that one can have: inside a machine the ladder, beyond it whole machines; None above ``most``.

    Args:
        count: at least so many.
        machine: GPUs of one server.
        most: no more than this.
        together: the count is a multiple of this, as far as that is possible.
    """
    if together > most:
        together = 1
    if count <= max(machine, together):
        return next((step for step in counts_of(machine, most, together) if step >= count), None)
    unit = math.lcm(machine, together) if together > 1 else machine
    whole = -(-count // unit) * unit
    return whole if whole <= most else None
