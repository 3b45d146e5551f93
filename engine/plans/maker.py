"""Making plans: a GPU and a count become a layout with memory, speed, cost and power."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Column, Facts, FactTable, Value, WordColumn, yes_no
from whichgpu.engine.plans.competence import competence_of
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.cost import OFFER, CostColumns, cost_columns, known
from whichgpu.engine.plans.costs.offers import offer_index
from whichgpu.engine.plans.costs.rental_wishes import wishes_from_facts
from whichgpu.engine.plans.costs.spending import count_owned, quoted_rate, spending_of
from whichgpu.engine.plans.ends import BandEnds
from whichgpu.engine.plans.facts import fact_columns
from whichgpu.engine.plans.gate import doubtful
from whichgpu.engine.plans.layouts import columns_of, joined_gpus
from whichgpu.engine.plans.links import LinkTable
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.needs import MemoryNeeds
from whichgpu.engine.plans.planned import PlannedRows
from whichgpu.engine.plans.size_columns import SizeColumns
from whichgpu.engine.plans.sizes import PlanSizes
from whichgpu.engine.plans.table import PlanTable
from whichgpu.engine.plans.targets import Goals, missed, undecided
from whichgpu.engine.sizing import Floats, GpuTable, Ints, Job, JobSpeed, Layout, demand_of, offloaded_gb


#: Facts in which a user names GPUs to be considered; what somebody owns is another matter.
_NAMING = ("gpu_candidates", "current_gpu")
#: Kinds of job that do their arithmetic in the precision that a card has.
_CHOOSING = frozenset({"full", "pretraining"})
#: Facts about all served models together.
_OF_THE_WHOLE_SERVICE = frozenset({"num_models_served", "peak_qps", "min_tokens_per_s", "num_gpus"})


class _OfOneModel(Mapping[str, Value]):
    """The facts but for those about all served models together; looked up one by one, for whoever watches."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def __getitem__(self, name: str) -> Value:
        if name in _OF_THE_WHOLE_SERVICE:
            raise KeyError(name)
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._facts if name not in _OF_THE_WHOLE_SERVICE)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class PlanMaker(PlanSizes):
    """Makes the plans of one job, with what they cost."""

    def __init__(self, job: Job, facts: Facts, knowledge: Knowledge) -> None:
        super().__init__(job, facts, knowledge)
        self._economics = load_economics()
        self._spending = spending_of(facts, self._economics)
        self._offers = offer_index(knowledge, self._economics).narrowed(wishes_from_facts(facts))
        self._named = named_ids(facts, knowledge)
        self._solo: PlanMaker | None = None

    def for_one_model(self) -> PlanMaker:
        """The maker for one of the served models alone, without a target: what one slice of a card is given."""
        if self._solo is None:
            job = replace(self.job, models_served=1)
            self._solo = PlanMaker(job, _OfOneModel(self.facts), self.knowledge)
        return self._solo

    @property
    def owns(self) -> bool:
        """Whether the user has any GPUs."""
        return bool(self._spending.owned)

    def owned(self, gpu: Gpu) -> int:
        """How many of a GPU the user has."""
        return count_owned(gpu, self._spending.owned)

    def offered(self, gpu: Gpu, count: int) -> bool:
        """Whether so many can be rented as one plan, or are owned or quoted."""
        if count_owned(gpu, self._spending.owned) >= count or quoted_rate(gpu, self._spending) is not None:
            return True
        together = count if self.job.training else 1
        linked = together > self.fabric(gpu).node_gpus  # more than one server, which then must be joined
        return self._offers.rental(gpu, count, together, linked=linked) is not None

    def found_before(self, terms: Hashable, search: Callable[[], PlannedRows], *, priced: bool) -> PlannedRows:
        """What a search over configurations finds, or found when it was made under the same terms for the same job.

        Args:
            terms: of the search, beside the job and what this maker knows of it.
            search: finds it.
            priced: whether it asks what can be rented.
        """
        timed = None if self._timed is None else (self._timed.hours, self._timed.gpu.id)
        spending = self._spending
        prices = (wishes_from_facts(self.facts), spending.quote_usd_h, spending.quoted) if priced else None
        owned = tuple(sorted(spending.owned.items()))
        return self._cache.found((terms, self.goals, self.batch, self.afield, timed, owned, prices), search)

    def plan(self, gpu: Gpu, count: int, why: str, *, layout: Layout | None = None, timed: bool = True) -> Plan:
        """The whole plan of ``count`` GPUs, whether it fits or not.

        Args:
            gpu: the accelerator.
            count: how many.
            why: where the count comes from.
            layout: how the job is split; by default ``layout(gpu, count)``.
            timed: whether speed is computed; it may be left out of plans that are made to be rejected.
        """
        columns, place = self.columns_with(gpu)
        usual = self.layout(gpu, count)
        found = self.found(
            columns, np.array([place]), columns_of([layout or usual]), columns_of([usual]), (why,), np.array([timed])
        )
        return self.table(found, columns)[0]

    def table(self, found: PlannedRows, columns: SizeColumns) -> PlanTable:
        """The plans of configurations.

        Args:
            found: the configurations.
            columns: of the GPUs that they point to.
        """
        gpus, links, which = columns.gpus, columns.links, found.gpu
        count = found.layouts.gpus
        costs = self._costs(found, columns)
        # Servers that are rented; else as few as hold the plan. Replicas may be rented apart, and the servers of a rack
        # that one link joins are rented one by one.
        rented = np.where((costs.origin == OFFER) & ~costs.assumed, costs.instances, 0)
        machines = np.maximum(links.nodes(which, count), rented)
        facts = self._facts(found, columns, costs, machines)
        ids = [f"{gpus.ids[place]}x{number}" for place, number in zip(which.tolist(), count.tolist(), strict=True)]
        unusual = np.flatnonzero(~found.is_usual)
        for row, layout in zip(unusual.tolist(), found.layouts.take(unusual).each(), strict=True):
            ids[row] += f"-{layout.label}"
        of_rows = [gpus.gpus[place] for place in which.tolist()]
        table = FactTable(len(ids), facts)
        make = self._whole_plans(found, columns, costs, machines, ids, table)
        return PlanTable(ids, of_rows, table, make, doubtful(facts, found.speed))

    def facts_of(self, found: PlannedRows, columns: SizeColumns, machines: Ints) -> dict[str, Column]:
        """The ``plan.*`` facts of configurations that stand in so many machines."""
        return self._facts(found, columns, self._costs(found, columns), machines)

    def _facts(self, found: PlannedRows, columns: SizeColumns, costs: CostColumns, machines: Ints) -> dict[str, Column]:
        gpus = columns.gpus
        return fact_columns(
            found,
            gpus,
            columns.links,
            costs,
            machines,
            joined=joined_gpus(self.job, found.layouts),
            training=self.job.training,
            precision=self._precisions(gpus.gpus, found.gpu),
            named=np.array([gpu.id in self._named for gpu in gpus.gpus] if self._named else False, np.bool_),
            meets_target=self._meets(self.goals, found),
            meets_with_room=self._meets(self.goals_with_room, found),
            goals=self.goals,
            offloaded_gb=offloaded_gb(self.job),
        )

    def traced(self, job: Job, facts: Facts) -> PlanMaker:
        """This maker over a job and facts whose numbers record their arithmetic; it searches and caches nothing."""
        made = copy(self)
        made.job, made.facts = job, facts
        made._economics = load_economics()
        made._spending = spending_of(facts, made._economics)
        made._offers = self._offers.traced(made._economics)
        return made

    @property
    def reference(self) -> Gpu:
        """The GPU that needs are computed for."""
        return self.columns.gpus.gpus[0]

    def columns_of(self, each: Sequence[Gpu]) -> SizeColumns:
        """Columns of some GPUs alone."""
        gpus, links = GpuTable(each), LinkTable(each, desk=self._desk)
        needs = MemoryNeeds(self.job, gpus, margin=self._margin)
        return SizeColumns(self.job, gpus, links, needs, JobSpeed(self.job, demand_of(self.job, self.facts)))

    def _costs(self, found: PlannedRows, columns: SizeColumns) -> CostColumns:
        """What the plans of configurations cost."""
        links, which, count = columns.links, found.gpu, found.layouts.gpus
        by_sample = not self.job.training and (self.job.shape is None or self.job.family == "encoder")
        together = joined_gpus(self.job, found.layouts)
        return cost_columns(
            columns.gpus,
            which,
            count,
            self._spending,
            self._offers,
            together=together,
            linked=together > links.node_gpus[which],
            tokens_per_s=self._sold_per_s(found),
            samples_per_s=found.speed.get("samples_per_s", np.nan) if by_sample else np.nan,
            hours=found.speed.get("hours", np.nan),
        )

    def _whole_plans(
        self,
        found: PlannedRows,
        columns: SizeColumns,
        costs: CostColumns,
        machines: Ints,
        ids: Sequence[str],
        table: FactTable,
    ) -> Callable[[int], Plan]:
        """The plan of a row, made whole."""
        which, ends = found.gpu, BandEnds(columns, self.goals, found)

        def make(row: int) -> Plan:
            gpu, layout, own = columns.gpus.gpus[which.item(row)], found.layouts.at(row), table.row(row)
            memory = found.memory.row(row) if found.memory is not None else None
            speed = self.speed_of(found, row, gpu, layout, ends)
            return Plan(
                id=ids[row],
                gpu=gpu,
                count=layout.count,
                nodes=int(machines[row]),
                link=str(own["plan.link"]),
                node_link=str(own["plan.node_link"]),
                layout=layout,
                precision=self._precision(gpu),
                memory=memory,
                speed=speed,
                cost=costs.cost(row),
                power_w=known(costs.power_w, row),
                why_count=found.why[row],
                facts=own,
                competence=competence_of(
                    self.job, gpu, memory, speed, None if found.why[row] == "stated" else partial(ends.counts, row)
                ),
            )

        return make

    def _sold_per_s(self, found: PlannedRows) -> Floats | float:
        """Tokens per second over which the cost of a million is taken: those of the load, else of full replicas."""
        name = "tokens_per_s" if self.load_stated else "capacity_tokens_per_s"
        return found.speed.get(name, found.speed.get("tokens_per_s", np.nan))

    def _meets(self, goals: Goals, found: PlannedRows) -> Column | None:
        if not goals.stated:
            return None
        verdicts = missed(goals, found.speed), undecided(goals, found.speed)
        too_bad, unknown = (np.broadcast_to(verdict, found.gpu.shape) for verdict in verdicts)
        return yes_no(~too_bad, too_bad | ~unknown)

    def _precisions(self, gpus: Sequence[Gpu], which: Ints) -> WordColumn:
        """The precision of each row, of the weights, or of the arithmetic in training."""
        if self.job.kind not in _CHOOSING:
            return WordColumn(np.zeros(len(which), np.intp), (self.job.weight_precision,))
        numbers: dict[str, int] = {}
        codes = [numbers.setdefault(self._precision(gpu), len(numbers)) for gpu in gpus]
        return WordColumn(np.array(codes, np.intp)[which], tuple(numbers))

    def _precision(self, gpu: Gpu) -> str:
        if self.job.kind not in _CHOOSING:
            return self.job.weight_precision
        stated = self.job.compute_precision
        if stated not in {"mixed", "fp8"} or stated in gpu.tflops:
            return stated  # FP8 on a card that lacks it comes down to the 16 bits of that card.
        return "bf16" if "bf16" in gpu.tflops else "fp16" if "fp16" in gpu.tflops else "fp32"


def named_ids(facts: Facts, knowledge: Knowledge) -> frozenset[str]:
    """The GPUs that the user named, by id, family or series."""
    names = [facts[fact] for fact in _NAMING if fact in facts]
    each = (name for value in names for name in (value if isinstance(value, tuple) else (value,)))
    return frozenset(gpu_id for name in each for gpu_id in knowledge.find_gpu(str(name)).ids)
