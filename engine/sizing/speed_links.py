"""How fast GPUs exchange data: bandwidth one way per GPU and the time a small exchange takes."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.sizing.speed_constants import speed_constants


class LinkSpeed(NamedTuple):
    """What collectives get of a link."""

    gbs: float  # GB/s one way per GPU
    latency_s: float


#: Every GPU alone: exchanges take no time.
NO_LINK = LinkSpeed(float("inf"), 0.0)


def link_speed(gpu: Gpu, link: str) -> LinkSpeed:
    """The link between GPUs of one node. The catalogue counts both directions; PCIe has a table of its own."""
    if link == "none":
        return NO_LINK
    pcie = (gpu.pcie_gen, gpu.segment == "consumer")
    return _link_speed(link, gpu.link_gbs if gpu.link == link else None, *pcie)


@cache
def _link_speed(link: str, link_gbs: float | None, pcie_gen: float | None, consumer: bool) -> LinkSpeed:
    constants = speed_constants()
    use = constants.links.get(link) or constants.links["pcie"]
    if link_gbs and link not in {"pcie", "ethernet"}:
        wire = link_gbs / 2
    elif use.gbs is not None:
        wire = use.gbs
    else:
        wire = constants.pcie_gbs.get(int(pcie_gen or constants.pcie_default_gen), constants.pcie_gbs[4])
    peer = constants.no_peer_copy_share if link == "pcie" and consumer else 1.0
    return LinkSpeed(wire * use.share * peer, use.latency_us * 1e-6)


def node_link_speed(gpu: Gpu, node_link: str, gpus_per_node: int) -> LinkSpeed:
    """The network between nodes, per GPU when every GPU of a node talks at once."""
    if node_link == "none":
        return NO_LINK
    early = (gpu.compute_capability or 9.0) < 9.0
    return _node_link_speed(node_link, early, gpus_per_node)


@cache
def _node_link_speed(node_link: str, early: bool, gpus_per_node: int) -> LinkSpeed:
    constants = speed_constants()
    use = constants.node_links.get(node_link) or constants.node_links["ethernet"]
    if use.gbs_per_node is not None:
        wire = use.gbs_per_node / max(1, gpus_per_node)
    elif early and use.gbs_per_gpu_ampere is not None:
        wire = use.gbs_per_gpu_ampere
    else:
        wire = use.gbs_per_gpu or 12.5
    return LinkSpeed(wire * use.share, use.latency_us * 1e-6)


def across_nodes(link: LinkSpeed, node: LinkSpeed, gpus_per_node: int) -> LinkSpeed:
    """What a collective over all GPUs of several nodes gets: each card of a node carries its share of the data.

    So the network counts once per node, with all its cards, and the link inside the node is the other bound.
    """
    if not node.latency_s:
        return link
    wire = node.gbs * max(1, gpus_per_node)
    return LinkSpeed(min(wire, link.gbs), node.latency_s + link.latency_s)


def all_reduce_s(payload_bytes: float, ranks: int, speed: LinkSpeed) -> float:
    """Seconds of one all-reduce over ``ranks``: a ring moves 2 (n - 1) / n of the payload through every link."""
    if ranks <= 1:
        return 0.0
    return speed.latency_s + 2.0 * (ranks - 1) / ranks * payload_bytes / (speed.gbs * 1e9)
