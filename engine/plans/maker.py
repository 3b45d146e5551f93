"""Making plans: a GPU and a count become a layout with memory, speed, cost and power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.cost import cost_row, known
from whichgpu.engine.plans.costs.offers import offer_index, wishes_from_facts
from whichgpu.engine.plans.costs.spending import count_owned, quoted_rate, spending_of
from whichgpu.engine.plans.facts import plan_facts
from whichgpu.engine.plans.model import Cost, Plan
from whichgpu.engine.plans.sizes import PlanSizes
from whichgpu.engine.plans.targets import meets
from whichgpu.engine.plans.topology import Fabric
from whichgpu.engine.sizing import (
    Job,
    Layout,
)


#: Facts in which a user names GPUs to be considered; what somebody owns is another matter.
_NAMING = ("gpu_candidates", "current_gpu")
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

    def owned(self, gpu: Gpu) -> int:
        """How many of a GPU the user has."""
        return count_owned(gpu, self._spending.owned)

    def offered(self, gpu: Gpu, count: int) -> bool:
        """Whether so many can be rented as one plan, or are owned or quoted."""
        if count_owned(gpu, self._spending.owned) >= count or quoted_rate(gpu, self._spending) is not None:
            return True
        together = count if self.job.training else 1
        return self._offers.rental(gpu, count, together, linked=self._linked(gpu, together)) is not None

    def plan(self, gpu: Gpu, count: int, why: str, *, layout: Layout | None = None, timed: bool = True) -> Plan:
        """The whole plan of ``count`` GPUs, whether it fits or not.

        Args:
            gpu: the accelerator.
            count: how many.
            why: where the count comes from.
            layout: how the job is split; by default ``layout(gpu, count)``.
            timed: whether speed is computed; it may be left out of plans that are made to be rejected.
        """
        usual, _ = self.layout(gpu, count)
        layout = layout or usual
        memory = self.memory(gpu, layout)
        fits = self.fits(gpu, memory)
        speed, batch = self.speed(gpu, layout) if timed and self.job.sized else (None, None)
        values = speed.values if speed is not None else {}
        fabric = self.fabric(gpu)
        together = self._together(layout)
        costs = cost_row(
            gpu,
            count,
            self._spending,
            self._offers,
            together=together,
            linked=self._linked(gpu, together),
            tokens_per_s=values.get("tokens_per_s"),
            samples_per_s=values.get("samples_per_s") if self.job.shape is None and not self.job.training else None,
            hours=values.get("hours"),
        )
        cost, power = costs.cost(0), known(costs.power_w, 0)
        precision = self._precision(gpu)
        machines = self._machines(fabric, layout, cost)
        inside = -(-count // machines)
        facts = plan_facts(
            gpu,
            layout,
            fabric,
            machines=machines,
            training=self.job.training,
            precision=precision,
            memory=memory,
            fits=fits,
            smallest=self.smallest_count(gpu),
            batch=batch,
            speeds=values,
            meets_target=meets(self.goals, values) if self.goals.stated else None,
            cost=cost,
            power_w=power,
            named=gpu.id in self._named,
        )
        return Plan(
            id=f"{gpu.id}x{count}" if layout == usual else f"{gpu.id}x{count}-{layout.label}",
            gpu=gpu,
            count=count,
            nodes=machines,
            link=fabric.link_of(inside),
            node_link=fabric.node_link_of(count),
            layout=layout,
            precision=precision,
            memory=memory,
            speed=speed,
            cost=cost,
            power_w=power,
            why_count=why,
            facts=facts,
        )

    def _together(self, layout: Layout) -> int:
        """GPUs that work as one: all of them in training, those of one replica while serving."""
        return layout.count if self.job.training else layout.tensor * layout.pipeline

    def _machines(self, fabric: Fabric, layout: Layout, cost: Cost) -> int:
        """Servers of a plan: those that are rented; else as few as hold it.

        Replicas may be rented apart, and the servers of a rack that one link joins are rented one by one.
        """
        fewest = fabric.nodes(layout.count)
        return max(fewest, cost.instances or 1) if cost.offer is not None and not cost.assumed else fewest

    def _linked(self, gpu: Gpu, together: int) -> bool:
        """Whether GPUs that work as one need more than one server, which then must be joined."""
        return together > self.fabric(gpu).node_gpus

    def _precision(self, gpu: Gpu) -> str:
        if self.job.kind not in {"full", "pretraining"}:
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
