"""How fast GPUs exchange data: bandwidth one way per GPU and the time a small exchange takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import remembered
from whichgpu.engine.sizing.rows import Ints, Rows, ceiling
from whichgpu.engine.sizing.speed_constants import speed_constants


class LinkSpeed(NamedTuple):
    """What collectives get of a link; numbers, or columns over plans."""

    gbs: Any  # GB/s one way per GPU
    latency_s: Any

    def take(self, which: Ints) -> LinkSpeed:
        """The links of some GPUs, by their positions."""
        return LinkSpeed(self.gbs[which], self.latency_s[which])


#: Every GPU alone: exchanges take no time.
NO_LINK = LinkSpeed(float("inf"), 0.0)


def link_speed(gpu: Gpu, link: str) -> LinkSpeed:
    """The link between GPUs of one node. The catalogue counts both directions; PCIe has a table of its own."""
    if link == "none":
        return NO_LINK
    pcie = (gpu.pcie_gen, gpu.segment == "consumer")
    return _link_speed(link, gpu.link_gbs if gpu.link == link else None, *pcie)


@remembered
def _link_speed(link: str, link_gbs: float | None, pcie_gen: float | None, consumer: bool) -> LinkSpeed:
    constants = speed_constants()
    use = constants.links.get(link) or constants.links["pcie"]
    if link_gbs and link not in {"pcie", "ethernet"}:
        wire = link_gbs / 2
    elif use.gbs is not None:
        wire = use.gbs
    else:
        wire = _slot_gbs(pcie_gen)
    peer = constants.no_peer_copy_share if link == "pcie" and consumer else 1.0
    return LinkSpeed(wire * use.share * peer, use.latency_us * 1e-6)


def _slot_gbs(pcie_gen: float | None) -> float:
    """GB/s one way of a slot of sixteen lanes."""
    constants = speed_constants()
    return constants.pcie_gbs.get(int(pcie_gen or constants.pcie_default_gen), constants.pcie_gbs[4])


def host_link_gbs(gpu: Gpu) -> float:
    """The wire between the memory of the host and the GPU, in GB/s one way; infinite where the two are one."""
    if gpu.unified_memory:
        return float("inf")
    return gpu.host_gbs or _slot_gbs(gpu.pcie_gen)


class Network(NamedTuple):
    """The network between nodes as collectives see it."""

    gbs: float  # GB/s one way, per GPU, or per node where its GPUs share it
    latency_s: float
    shared: bool  # by the GPUs of a node


def network_of(gpu: Gpu, node_link: str) -> Network:
    """The network of a kind of link between nodes of this GPU."""
    return _network(node_link, (gpu.compute_capability or 9.0) < 9.0)


@remembered
def _network(node_link: str, early: bool) -> Network:
    constants = speed_constants()
    use = constants.node_links.get(node_link) or constants.node_links["ethernet"]
    wire, shared = use.gbs_per_gpu or 12.5, use.gbs_per_node is not None
    if use.gbs_per_node is not None:
        wire = use.gbs_per_node
    elif early and use.gbs_per_gpu_ampere is not None:
        wire = use.gbs_per_gpu_ampere
    return Network(wire * use.share, use.latency_us * 1e-6, shared)


def node_link_speed(gpu: Gpu, node_link: str, gpus_per_node: int) -> LinkSpeed:
    """The network between nodes, per GPU when every GPU of a node talks at once."""
    if node_link == "none":
        return NO_LINK
    network = network_of(gpu, node_link)
    return LinkSpeed(network.gbs / max(1, gpus_per_node) if network.shared else network.gbs, network.latency_s)


def across_nodes(link: LinkSpeed, node: LinkSpeed, gpus_per_node: Any) -> LinkSpeed:
    """What a collective over all GPUs of several nodes gets: each card of a node carries its share of the data.

    So the network counts once per node, with all its cards, and the link inside the node is the other bound.
    """
    wire = node.gbs * np.maximum(1, gpus_per_node)
    return LinkSpeed(
        np.where(node.latency_s, np.minimum(wire, link.gbs), link.gbs),
        np.where(node.latency_s, node.latency_s + link.latency_s, link.latency_s),
    )


def all_reduce_s(payload_bytes: Any, ranks: Any, speed: LinkSpeed) -> Any:
    """Seconds of one all-reduce over ``ranks``: a ring moves 2 (n - 1) / n of the payload through every link."""
    time = speed.latency_s + 2.0 * (ranks - 1) / ranks * payload_bytes / (speed.gbs * 1e9)
    return np.where(ranks > 1, time, 0.0)


class Split(NamedTuple):
    """How plans are spread and linked, as columns."""

    rows: Rows
    link: LinkSpeed  # inside a node
    node: LinkSpeed  # between nodes, per GPU
    over_all: LinkSpeed  # for collectives over all GPUs
    tensor_link: LinkSpeed  # that tensor ranks exchange over
    per_node: Any  # GPUs of a node


def split_of(rows: Rows, link: LinkSpeed, node: LinkSpeed, nodes: Any) -> Split:
    """The rows with the speeds of their links.

    Args:
        rows: layouts of plans.
        link: between GPUs of a node, for each row.
        node: between nodes, for each row.
        nodes: how many, for each row.
    """
    count = rows.count
    per_node = ceiling(count, np.maximum(1, nodes))
    inside, between = choose(count > 1, link, NO_LINK), choose(nodes > 1, node, NO_LINK)
    over_all = across_nodes(inside, between, per_node)
    return Split(rows, inside, between, over_all, choose(rows.tensor > per_node, over_all, inside), per_node)


def choose(condition: Any, one: LinkSpeed, other: LinkSpeed) -> LinkSpeed:
    """The first link where the condition holds, elsewhere the other."""
    return LinkSpeed(
        np.where(condition, one.gbs, other.gbs),
        np.where(condition, one.latency_s, other.latency_s),
    )
