"""What choosing reads of the plans that no rule rejects, as columns: a row for each plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from whichgpu.engine.advisor.measures import MeasureColumns
from whichgpu.engine.advisor.paid_length import ordered_gpus
from whichgpu.engine.core import Codes, Numbers, known_or, number
from whichgpu.engine.plans import Plan, PlanTable
from whichgpu.engine.rules import ResolvedFacts


Flags = NDArray[np.bool_]

#: No plan.
NONE = -1

#: Segments by what their makers promise of them: support, error correction, use around the clock.
SEGMENT_ORDER = {"other": 0, "edge": 0, "consumer": 0, "professional": 1, "datacenter": 2}


class Traits(Struct, frozen=True):
    """What choosing reads of plans beside figures and evidence: columns, or what one plan has."""

    count: Any  # of GPUs
    ordered: Any  # GPUs by which it is a larger order: 1 where they are there, whole boards where they are bought
    nodes: Any  # machines that one replica is spread over, for its GPUs have to be joined
    machines: Any  # that all of them stand in
    pcie_gpus: Any  # that are joined over PCIe
    replicas: Any  # of a served model
    bought: Any  # it has to be bought
    owned: Any  # it is there already
    usd_per_hour: Any  # of the whole plan; NaN where it is not known
    capacity: Any  # load that a service can sustain, at most what is asked (``AskedLoad``); NaN where not known
    vendor: Any  # in columns numbers that stand for vendors, and for families of cards
    family: Any
    segment: Any  # by SEGMENT_ORDER
    vram_gb: Any  # of a card; infinite where it is not known
    place: Any  # of the plan's id among all of them, sorted

    def each(self, change: Callable[[Any], Any]) -> Traits:
        """The traits with every column changed alike."""
        return Traits(*map(change, astuple(self)))


#: Facts that together say how soon all of a run is due, or all of an answer to so many requests a second. Users who ask
#: again as soon as they are answered ask more of what is faster.
_WHOLE_TIMES = ({"deadline_hours"}, {"latency_slo_ms", "peak_qps"}, {"ttft_slo_ms", "tpot_slo_ms", "peak_qps"})


class AskedLoad(NamedTuple):
    """By which figure it is judged how much a service can sustain, and how much of it is asked for: no more counts."""

    figure: str = "plan.qps"
    most: float = math.inf

    def of(self, capacity: Any) -> Any:
        """What a service can sustain of what is asked of it."""
        return np.minimum(capacity, self.most)


#: Nobody says how much is asked of a service: then all that it can sustain counts.
UNSTATED = AskedLoad()


def due(intake: ResolvedFacts) -> bool:
    """Whether it is stated how soon a whole run or a whole answer has to be there: what is sooner is of no more use."""
    stated = intake.facts.keys() - intake.assumed
    return any(stated >= times for times in _WHOLE_TIMES)


def stated_load(intake: ResolvedFacts) -> AskedLoad:
    """The requests a second that come or, where those in flight are stated instead, how many of them there are.

    So many users ask again as soon as they are answered, however fast that is: a service that holds them all sustains
    what is asked of it, and how soon it answers is in its time.
    """
    rate, present = (number(intake.facts, name) for name in ("peak_qps", "concurrency"))
    if rate is not None:
        return AskedLoad(most=rate)
    if present is None or "concurrency" in intake.assumed or "min_tokens_per_s" in intake.facts:
        return UNSTATED
    return AskedLoad("plan.max_concurrency", present)


def traits_of_plan(plan: Plan, load: AskedLoad = UNSTATED) -> Traits:
    """What choosing reads of one plan."""
    gpu, facts = plan.gpu, plan.facts
    return Traits(
        count=plan.count,
        ordered=1 if facts.get("plan.owned") is True else facts.get("plan.gpus_bought", plan.count),
        nodes=facts.get("plan.joined_nodes", plan.nodes),
        machines=plan.nodes,
        pcie_gpus=facts.get("plan.pcie_gpus", 0),
        replicas=facts.get("plan.replicas", 1),
        bought=facts.get("plan.bought") is True,
        owned=facts.get("plan.owned") is True,
        usd_per_hour=facts.get("plan.usd_per_hour", math.nan),
        capacity=load.of(facts.get(load.figure, math.nan)),
        vendor=gpu.vendor,
        family=gpu.family,
        segment=SEGMENT_ORDER.get(gpu.segment or "", 0),
        vram_gb=gpu.vram_gb or math.inf,
        place=plan.id,
    )


def traits_of(plans: Sequence[Plan], load: AskedLoad = UNSTATED) -> Traits:
    """What choosing reads of these plans."""
    table = PlanTable.of(plans)
    kinds = {id(gpu): gpu for gpu in table.gpus}  # A slice of a card has a memory of its own.
    number = {name: kind for kind, name in enumerate(kinds)}
    which = np.array([number[id(gpu)] for gpu in table.gpus], np.intp)
    vendors: dict[str, int] = {}
    families: dict[str, int] = {}
    place = np.empty(len(table), np.intp)
    place[sorted(range(len(table)), key=table.ids.__getitem__)] = np.arange(len(table))
    gpus = kinds.values()
    joined, machines = table.numbers("plan.joined_nodes"), table.numbers("plan.nodes")
    return Traits(
        count=table.numbers("plan.count").astype(np.intp),
        ordered=ordered_gpus(table),
        nodes=np.where(np.isnan(joined), machines, joined).astype(np.intp),
        machines=known_or(machines, 1).astype(np.intp),
        pcie_gpus=known_or(table.numbers("plan.pcie_gpus")).astype(np.intp),
        replicas=known_or(table.numbers("plan.replicas"), 1).astype(np.intp),
        bought=table.yes("plan.bought"),
        owned=table.yes("plan.owned"),
        usd_per_hour=table.numbers("plan.usd_per_hour"),
        capacity=load.of(table.numbers(load.figure)),
        vendor=np.array([vendors.setdefault(gpu.vendor, len(vendors)) for gpu in gpus], np.intp)[which],
        family=np.array([families.setdefault(gpu.family, len(families)) for gpu in gpus], np.intp)[which],
        segment=np.array([SEGMENT_ORDER.get(gpu.segment or "", 0) for gpu in gpus], np.intp)[which],
        vram_gb=np.array([gpu.vram_gb or np.inf for gpu in gpus], np.float64)[which],
        place=place,
    )


class Contenders(Struct, frozen=True):
    """The plans that no rule rejects, in any order: a row each."""

    traits: Traits
    measures: MeasureColumns
    score: Numbers
    proven: Flags
    fallback: Flags
    in_card_band: Flags
    in_count_band: Flags
    roomy: Flags  # meets what targets are stated with room, as far as that is known
    in_time: Flags  # it is said how soon all is due, and this plan is known to be as soon, with room

    def __len__(self) -> int:
        """The number of plans."""
        return len(self.score)

    def take(self, rows: Codes) -> Contenders:
        """Some of the plans."""
        traits = self.traits.each(lambda column: column[rows])
        flags = (self.proven, self.fallback, self.in_card_band, self.in_count_band, self.roomy, self.in_time)
        return Contenders(traits, self.measures.take(rows), self.score[rows], *(each[rows] for each in flags))
