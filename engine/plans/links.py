"""How the plans of a decision are linked, as columns: the speeds of the links inside and between their machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import WordColumn, column_of_numbers
from whichgpu.engine.plans.topology import Fabric, fabric_of
from whichgpu.engine.sizing import (
    NO_LINK,
    Ints,
    LinkSpeed,
    Rows,
    Split,
    ceiling,
    choose,
    link_speed,
    network_of,
    split_of,
)


class LinkTable:
    """What joins several of each GPU, by its position.

    Many GPUs are joined alike: ``fabrics`` are the different ways, ``fabric`` the position of each GPU's among them.
    """

    def __init__(self, gpus: Sequence[Gpu], *, desk: bool = False) -> None:
        """Read the fabric of every GPU; at a ``desk`` no more cards are joined than a workstation holds."""
        pairs = tuple((gpu, fabric_of(gpu, desk=desk)) for gpu in gpus)

        self.fabrics = tuple(dict.fromkeys(fabric for _, fabric in pairs))
        places = {fabric: place for place, fabric in enumerate(self.fabrics)}
        self.fabric: Ints = np.array([places[fabric] for _, fabric in pairs], np.int64)

        def column(read: Callable[[Gpu, Fabric], float]) -> Any:
            return column_of_numbers(read(gpu, fabric) for gpu, fabric in pairs)

        links = dict.fromkeys(("none", "pcie", *(fabric.link for fabric in self.fabrics)))
        networks = dict.fromkeys(("none", *(fabric.node_link for fabric in self.fabrics)))
        self._links, self._networks = tuple(links), tuple(networks)
        self._link = column(lambda _, fabric: self._links.index(fabric.link))
        self._network = column(lambda _, fabric: self._networks.index(fabric.node_link))
        self.node_gpus = column(lambda _, fabric: fabric.node_gpus)
        self._machine = column(lambda _, fabric: fabric.machine)
        self._domain = column(lambda _, fabric: fabric.domain)
        own = [link_speed(gpu, fabric.link) for gpu, fabric in pairs]
        bus = [link_speed(gpu, "pcie") for gpu, _ in pairs]
        self._own, self._bus = (
            LinkSpeed(column_of_numbers(link.gbs for link in each), column_of_numbers(link.latency_s for link in each))
            for each in (own, bus)
        )
        self._network_gbs = column(lambda gpu, fabric: network_of(gpu, fabric.node_link).gbs)
        self._network_latency_s = column(lambda gpu, fabric: network_of(gpu, fabric.node_link).latency_s)
        self._network_shared = column(lambda gpu, fabric: network_of(gpu, fabric.node_link).shared)

    def split(self, which: Ints, rows: Rows) -> Split:
        """The rows with the speeds of their links; ``which`` is the GPU of each row by its position."""
        count, machine = rows.count, self._machine[which]
        inside = np.minimum(count, machine)
        link = choose(inside <= self._domain[which], self._own.take(which), self._bus.take(which))
        link = choose(inside > 1, link, NO_LINK)
        nodes = ceiling(count, machine)
        per_node = np.where(self._network_shared[which], ceiling(count, nodes), 1)
        network = LinkSpeed(self._network_gbs[which] / per_node, self._network_latency_s[which])
        return split_of(rows, link, network, nodes)

    def link_of(self, which: Ints, count: Ints) -> WordColumn:
        """The link that all GPUs of one machine of each plan share. A bridge joins only its few cards."""
        inside = np.minimum(count, self._machine[which])
        link = np.where(inside <= self._domain[which], self._link[which], self._links.index("pcie"))
        return WordColumn(np.where(inside <= 1, self._links.index("none"), link), self._links)

    def node_link_of(self, which: Ints, count: Ints) -> WordColumn:
        """The network between the machines of each plan."""
        joined = count > self._machine[which]
        return WordColumn(np.where(joined, self._network[which], self._networks.index("none")), self._networks)

    def nodes(self, which: Ints, count: Ints) -> Ints:
        """Machines for so many GPUs."""
        machines: Ints = ceiling(count, self._machine[which])
        return machines
