"""Making plans: a GPU and a count become a layout with memory, speed, cost and power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu, Knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.costs.constants import load_economics
from whichgpu.engine.plans.costs.cost import cost_of, count_owned, quoted_rate, spending_of
from whichgpu.engine.plans.costs.offers import offer_index, wishes_from_facts
from whichgpu.engine.plans.costs.power import plan_power_w
from whichgpu.engine.plans.facts import plan_facts
from whichgpu.engine.plans.measured import timed_run
from whichgpu.engine.plans.model import Cost, Plan
from whichgpu.engine.plans.needs import safety_of
from whichgpu.engine.plans.targets import goals_of, meets
from whichgpu.engine.plans.topology import Fabric, counts_of, fabric_of, rounded_up
from whichgpu.engine.plans.workings import Terms, workings_of
from whichgpu.engine.sizing import (
    Figure,
    Job,
    Layout,
    MemoryEstimate,
    SpeedEstimate,
    batch_of,
    capacity_asked,
    card_of,
    estimate_memories,
    granted_of,
    rows_of,
    rows_of_values,
)


def rate_of(speed: SpeedEstimate | None) -> float | None:
    """Work per second of a speed: tokens, or samples where there are none."""
    if speed is None:
        return None
    return speed.values.get("tokens_per_s") or speed.values.get("samples_per_s")


#: Facts in which a user names GPUs to be considered; what somebody owns is another matter.
_NAMING = ("gpu_candidates", "current_gpu")
#: Facts about all served models together.
_OF_THE_WHOLE_SERVICE = frozenset({"num_models_served", "peak_qps", "min_tokens_per_s", "num_gpus"})


class PlanMaker:
    """Makes the plans of one job. Holds what does not change from plan to plan; its answers depend on nothing else."""

    def __init__(self, job: Job, facts: Facts, knowledge: Knowledge) -> None:
        self.job = job
        self.facts = facts
        self.knowledge = knowledge
        self._timed = timed_run(job, facts, knowledge)
        self.goals = goals_of(job, facts, timed=self._timed is not None)
        self._constants = plan_constants()
        self._most = self._constants.most_gpus[job.kind].value
        self._economics = load_economics()
        self._spending = spending_of(facts, self._economics)
        self._offers = offer_index(knowledge, self._economics).narrowed(wishes_from_facts(facts))
        self._goals_stated = self.goals.stated
        self.batch = not job.training and facts.get("serving_mode") == "batch"
        self._capacity = capacity_asked(job, facts)
        self._named = named_ids(facts, knowledge)
        self._desk = facts.get("deployment_site") == "workstation"
        # Nothing else is left to choose then, so that the best estimate tells more than a refusal at the last gigabyte.
        self._margin = not (facts.get("num_gpus") and facts.get("gpu_candidates"))
        self._batch_free = job.training and "batch_size_per_gpu" in job.unstated
        self._workings = workings_of(
            knowledge, Terms(job, self.goals.times, self._capacity, self._desk, margin=self._margin)
        )
        self._needs = self._workings.needs
        self._fabrics: dict[str, Fabric] = {}
        self._layouts: dict[tuple[str, int], tuple[Layout, bool]] = {}
        self._solo: PlanMaker | None = None

    @property
    def split_stated(self) -> bool:
        """Whether the user says how the job is split."""
        return (self.job.tensor_parallel, self.job.pipeline_parallel, self.job.data_ranks) != (None, None, None)

    def as_stated(self, layout: Layout) -> bool:
        """Whether a layout has the degrees that the user states."""
        stated = (self.job.tensor_parallel, self.job.pipeline_parallel, self.job.data_parallel)
        degrees = (layout.tensor, layout.pipeline, layout.data)
        return all(want is None or want == have for want, have in zip(stated, degrees, strict=True))

    @property
    def least_gain(self) -> float:
        """By what factor twice the GPUs must be faster to be worth it."""
        return self._constants.least_gain_of_doubling.value

    def node_gpus(self, gpu: Gpu) -> int:
        """The GPUs of one server, as far as so many are planned."""
        return min(self.fabric(gpu).node_gpus, self.most_gpus(gpu))

    def counts(self, gpu: Gpu) -> tuple[int, ...]:
        """The counts worth trying, smallest first: of the ladder those that stated degrees of parallelism allow."""
        return counts_of(self.fabric(gpu).node_gpus, self.most_gpus(gpu), self.job.least_gpus)

    def rounded_up(self, gpu: Gpu, count: int) -> int | None:
        """The next count that one can have, from ``count`` on; None where there is none."""
        return rounded_up(count, self.fabric(gpu).node_gpus, self.most_gpus(gpu), self.job.least_gpus)

    @property
    def patience_hours(self) -> int:
        """How long people wait for a run without a deadline."""
        return self._constants.patience_hours.value

    def for_one_model(self) -> PlanMaker:
        """The maker for one of the served models alone, without a target: what one slice of a card is given."""
        if self._solo is None:
            job = replace(self.job, models_served=1)
            facts = {name: value for name, value in self.facts.items() if name not in _OF_THE_WHOLE_SERVICE}
            self._solo = PlanMaker(job, facts, self.knowledge)
        return self._solo

    def fabric(self, gpu: Gpu) -> Fabric:
        """How copies of a GPU are joined in this case."""
        if gpu.id not in self._fabrics:
            self._fabrics[gpu.id] = fabric_of(gpu, desk=self._desk)
        return self._fabrics[gpu.id]

    def most_gpus(self, gpu: Gpu) -> int:
        """The largest count that is planned."""
        return min(self._most, self.fabric(gpu).most)

    def memory(self, gpu: Gpu, layout: Layout) -> MemoryEstimate | None:
        """Memory of the job under a layout; None where neither model nor memory is known."""
        if not self.job.sized:
            return None
        key = (card_of(gpu), layout)
        if key not in self._workings.memories:
            self.prepare_memory([(gpu, layout)])
        return self._workings.memories[key]

    def prepare_memory(self, wanted: Iterable[tuple[Gpu, Layout]]) -> None:
        """Compute the memory of plans all at once, so that ``memory`` only has to look it up."""
        memories = self._workings.memories
        keyed = {(card_of(gpu), layout): (gpu, layout) for gpu, layout in wanted} if self.job.sized else {}
        new = {key: pair for key, pair in keyed.items() if key not in memories}
        if new:
            memories.update(zip(new, estimate_memories(self.job, list(new.values())), strict=True))

    def fits(self, gpu: Gpu, memory: MemoryEstimate | None) -> bool | None:
        """Memory per GPU, raised by the safety factor of its kind, is within what the GPU can give.

        Where both the GPUs and their number are stated, the best estimate decides, and a warning tells the little room.
        """
        granted = granted_of(self.job, gpu)
        if memory is None or gpu.usable_gb is None or granted is None:
            return None
        raised = memory.per_gpu_gb * safety_of(self.job, memory.method, margin=self._margin)
        return memory.per_gpu_gb <= granted and raised <= gpu.usable_gb

    def smallest_count(self, gpu: Gpu) -> int | None:
        """The smallest count of the ladder that fits; None where none does or memory is not known."""
        if gpu.id not in self._workings.smallest:
            self._workings.smallest[gpu.id] = self._find_smallest(gpu)
        return self._workings.smallest[gpu.id]

    def fitting(self, gpu: Gpu, count: int) -> tuple[Layout, ...]:
        """All layouts of a count that fit, least exchange first."""
        limit = self._limit(gpu)
        if self._needs is None or limit is None:
            return ()
        return self._needs.fitting(self.fabric(gpu), count, limit)

    def splits(self, gpu: Gpu, width: int) -> tuple[Layout, ...]:
        """The ways to split one replica over so many GPUs, whether it fits or not."""
        if self._needs is None:
            return ()
        choices = self._needs.choices(self.fabric(gpu), width)
        return tuple(choice.layout for choice in choices if choice.layout.data == 1)

    def holds(self, gpu: Gpu, layout: Layout) -> bool:
        """Whether a layout fits the GPU."""
        limit = self._limit(gpu)
        raised = self._needs.raised_gb(layout) if self._needs else None
        return limit is not None and raised is not None and raised <= limit

    def layout(self, gpu: Gpu, count: int) -> tuple[Layout, bool]:
        """The layout for a count and whether it fits.

        In training the fastest of those that fit; while serving the one that exchanges least. Where none fits, the one
        that needs least memory.
        """
        key = (gpu.id, count)
        if key not in self._layouts:
            self._layouts[key] = self._find_layout(gpu, count)
        return self._layouts[key]

    def _find_layout(self, gpu: Gpu, count: int) -> tuple[Layout, bool]:
        found = self.fitting(gpu, count)
        if not found:
            return (self._needs.leanest(self.fabric(gpu), count) if self._needs else Layout(data=count)), False
        if not self.job.training or len(found) == 1:
            return found[0], True
        self.evaluate((gpu, layout) for layout in found)
        rates = [rate_of(self._estimated_speed(gpu, layout)[0]) or 0.0 for layout in found]
        return found[max(range(len(found)), key=lambda index: (round(rates[index], 6), -index))], True

    def speed(self, gpu: Gpu, layout: Layout) -> tuple[SpeedEstimate | None, int | None]:
        """Speed of a layout, and the largest batch that fits it."""
        speed, batch = self._estimated_speed(gpu, layout)
        if speed is None or self._timed is None:
            return speed, batch
        return self._timed.elsewhere(speed, self._speed_in_use(self._timed.gpu)), batch

    def _speed_in_use(self, gpu: Gpu) -> Mapping[str, float]:
        """The speed on the GPU in use, taken for one of them, or for as many as the job needs."""
        layout, _ = self.layout(gpu, self.smallest_count(gpu) or 1)
        speed, _ = self._estimated_speed(gpu, layout)
        return speed.values if speed is not None else {}

    def prepare(self, gpus: Sequence[Gpu]) -> None:
        """Compute the memory of the usual splits of these GPUs inside a machine at once; few need more than one."""
        if self._needs is None:
            return
        counts = {(self.fabric(gpu), count) for gpu in gpus for count in self.counts(gpu)}
        self._needs.prepare([(fabric, count) for fabric, count in counts if count <= fabric.machine])

    def evaluate(self, wanted: Iterable[tuple[Gpu, Layout]]) -> None:
        """Compute the speed of plans all at once, so that ``speed`` only has to look it up."""
        speeds, table = self._workings.speeds, self._workings.table
        new: dict[tuple[str, Layout], Gpu] = {}
        for gpu, layout in wanted:
            place = table.position.get(gpu.id)
            if place is not None and table.gpus[place] is gpu and (gpu.id, layout) not in speeds:
                new[gpu.id, layout] = gpu
        if not new:
            return
        gpus, laid = list(new.values()), [layout for _, layout in new]
        if self._needs is not None:
            self._needs.prepare_batches(laid)
        rooms = [self._most_batch(gpu, layout) for gpu, layout in zip(gpus, laid, strict=True)]
        batches = [self._batch_at(room) for room in rooms]
        places = np.array([table.position[gpu.id] for gpu in gpus])
        split = self._workings.links.split(places, rows_of(laid, batches))
        room = np.array([np.nan if room is None else room for room in rooms], np.float64)
        columns = self._workings.speed.columns(table, places, split, room)
        for index, values in enumerate(rows_of_values(columns)):
            gpu, layout = gpus[index], laid[index]
            speed = None
            if values:
                speed = SpeedEstimate(values, partial(self._figures, gpu, layout, rooms[index], batches[index]))
            speeds[gpu.id, layout] = speed, rooms[index]

    def _estimated_speed(self, gpu: Gpu, layout: Layout) -> tuple[SpeedEstimate | None, int | None]:
        key, speeds = (gpu.id, layout), self._workings.speeds
        if key not in speeds:
            self.evaluate([(gpu, layout)])
        if key not in speeds:  # A slice of a card, or a changed one, is in no table.
            room = self._most_batch(gpu, layout)
            speeds[key] = self._single(gpu, layout, room, self._batch_at(room)), room
        return speeds[key]

    def _single(self, gpu: Gpu, layout: Layout, room: int | None, batch: int) -> SpeedEstimate | None:
        fabric, count = self.fabric(gpu), layout.count
        return self._workings.speed.estimate(
            gpu,
            layout,
            fabric.link_of(count),
            fabric.node_link_of(count),
            nodes=fabric.nodes(count),
            room=None if self.job.training else room,
            batch=batch,
        )

    def _figures(self, gpu: Gpu, layout: Layout, room: int | None, batch: int) -> dict[str, Figure]:
        found = self._single(gpu, layout, room, batch)
        return {} if found is None else found.figures

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
        cost = cost_of(
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
        power = plan_power_w(gpu, count, self._economics)
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
            meets_target=meets(self.goals, values) if self._goals_stated else None,
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

    def _find_smallest(self, gpu: Gpu) -> int | None:
        limit = self._limit(gpu)
        if self._needs is None or limit is None:
            return None
        return self._needs.smallest(self.fabric(gpu), self.counts(gpu), limit)

    def _limit(self, gpu: Gpu) -> float | None:
        limits = self._workings.limits
        if gpu.id not in limits:
            limits[gpu.id] = self._needs.limit_gb(gpu) if self._needs else None
        return limits[gpu.id]

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

    def _most_batch(self, gpu: Gpu, layout: Layout) -> int | None:
        limit = self._limit(gpu)
        return None if self._needs is None or limit is None else self._needs.most_batch(layout, limit)

    def _batch_at(self, most: int | None) -> int:
        """Requests in flight; in training the micro-batch, as large as fits up to a bound where none is stated."""
        job = self.job
        if not self._batch_free or not most:
            return batch_of(job)
        tokens = self._constants.tokens_per_micro_batch.value // job.seq_len_tokens
        bound = tokens if job.shape is not None else self._constants.images_per_micro_batch.value
        batch = max(1, min(most, bound))
        batch = 1 << (batch.bit_length() - 1)
        return min(batch, job.global_batch) if job.global_batch else batch


def named_ids(facts: Facts, knowledge: Knowledge) -> frozenset[str]:
    """The GPUs that the user named, by id, family or series."""
    names = [facts[fact] for fact in _NAMING if fact in facts]
    each = (name for value in names for name in (value if isinstance(value, tuple) else (value,)))
    return frozenset(gpu_id for name in each for gpu_id in knowledge.find_gpu(str(name)).ids)
