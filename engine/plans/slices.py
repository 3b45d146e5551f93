"""Plans on MIG slices: one data-centre card cut into partitions, each with memory and compute of its own.

A profile ``2g.20gb`` takes two of the card's compute slices and as many of its memory slices as hold 20 GB. Several
services that want a guaranteed share, or several models, get one slice each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Value
from whichgpu.engine.plans.competence import Competence
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Partition, Plan
from whichgpu.engine.plans.targets import meets, shortfall, times_kept
from whichgpu.engine.sizing import Figure, SpeedEstimate


_PROFILE = re.compile(r"(?P<compute>\d+)g\.(?P<memory>\d+)gb\Z")
#: Figures that add up over slices; the times of a request do not.
_RATES = frozenset(
    {
        "tokens_per_s",
        "input_tokens_per_s",
        "samples_per_s",
        "images_per_s",
        "audio_hours_per_hour",
        "capacity_audio_hours_per_hour",
        "requests_per_s",
        "steps_per_s",
        "qps",
        "max_concurrency",
        "max_streams",
        "capacity_tokens_per_s",
        "capacity_samples_per_s",
        "in_flight",
    }
)
_RATE_FACTS = (
    "plan.tokens_per_s",
    "plan.samples_per_s",
    "plan.qps",
    "plan.max_concurrency",
    "plan.capacity_tokens_per_s",
    "plan.in_flight",
)


class Slice(Struct, frozen=True):
    """One MIG profile of one card. ``per_card`` instances of it fit side by side."""

    profile: str
    compute_share: float
    memory_share: float
    memory_gb: float
    per_card: int


def slices_of(gpu: Gpu) -> tuple[Slice, ...]:
    """The profiles of a card that leave room for a second one, the smallest first.

    Compute is dealt in ``mig_max`` parts and memory in the next power of two of them: seven and eight on an A100, four
    and four on an A30 (NVIDIA MIG user guide).
    """
    found = []
    for profile in gpu.mig_profiles:
        match = _PROFILE.match(profile)
        if match is None or not gpu.vram_gb or not gpu.mig_max:
            continue
        compute, memory = int(match["compute"]), float(match["memory"])
        parts = 1 << math.ceil(math.log2(gpu.mig_max))
        memory_parts = max(1, round(memory / gpu.vram_gb * parts))
        per_card = min(gpu.mig_max // compute, parts // memory_parts)
        if per_card > 1:
            found.append(Slice(profile, compute / gpu.mig_max, memory_parts / parts, memory, per_card))
    return tuple(sorted(found, key=lambda each: (each.memory_gb, each.compute_share)))


def as_gpu(gpu: Gpu, part: Slice) -> Gpu:
    """The slice as an accelerator of its own: its share of memory, bandwidth and arithmetic, and no link."""
    share = part.memory_share
    return replace(
        gpu,
        id=f"{gpu.id}-mig-{part.profile}",
        vram_gb=part.memory_gb,
        usable_gb=None if gpu.usable_gb is None else gpu.usable_gb * share,
        mem_bw_tbs=None if gpu.mem_bw_tbs is None else gpu.mem_bw_tbs * share,
        tflops={name: value * part.compute_share for name, value in gpu.tflops.items()},
        link="none",
        link_gbs=None,
        mig_max=0,
        mig_profiles=(),
        parent=gpu.id,
    )


def wants_slices(maker: PlanMaker) -> bool:
    """Whether slices are worth planning: served models that are several or must not disturb each other."""
    facts = maker.facts
    several = maker.job.models_served > 1
    return not maker.job.training and maker.job.sized and (several or facts.get("guaranteed_isolation") is True)


def slice_plans(maker: PlanMaker, gpu: Gpu) -> Iterator[Plan]:
    """The plan on the smallest slice of the card that holds one model and meets the targets, if there is one."""
    if not gpu.mig_profiles or not wants_slices(maker):
        return
    solo = maker.for_one_model()
    for part in slices_of(gpu):
        single = solo.plan(as_gpu(gpu, part), 1, "one slice")
        if single.facts.get("plan.fits") is not True:
            continue
        values = single.speed.values if single.speed else {}
        if maker.goals.stated and not times_kept(maker.goals, values):
            continue
        factor = shortfall(maker.goals, values) if maker.goals.stated else 1.0
        if not math.isfinite(factor):
            continue
        models = maker.job.models_served
        # Each model has its own traffic: the stated peak is that of all of them together.
        count = models * max(1, math.ceil(factor / models))
        cards = math.ceil(count / part.per_card)
        stated = maker.stated_count
        if stated is not None and cards <= stated:
            cards = stated  # Slices may lie apart.
        if cards <= (stated or maker.most_gpus(gpu)):
            yield _plan(maker, gpu, part, single, count, cards)
        return


def _plan(maker: PlanMaker, gpu: Gpu, part: Slice, single: Plan, count: int, cards: int) -> Plan:
    whole = maker.plan(gpu, cards, f"{count} slices {part.profile}", timed=False)
    speed = None if single.speed is None else _times(single.speed, count)
    facts: dict[str, Value] = {
        **whole.facts,
        **{name: value for name, value in single.facts.items() if name in _OF_ONE_SLICE},
        "plan.mig_profile": part.profile,
        "plan.mig_slices": count,
        "plan.replicas": count,
        "plan.needed_gb": single.memory.per_gpu_gb * count if single.memory else 0.0,
        "plan.is_smallest_fit": True,
    }
    for name in _RATE_FACTS:
        if name in single.facts:
            facts[name] = single.facts[name] * count
    if maker.goals.stated and speed is not None:
        for name, goals in (("plan.meets_target", maker.goals), ("plan.meets_with_room", maker.goals_with_room)):
            met = meets(goals, speed.values)
            if met is not None:
                facts[name] = met
    usable = single.gpu.usable_gb
    return replace(
        whole,
        id=f"{gpu.id}x{cards}-mig-{part.profile}",
        memory=single.memory,
        speed=speed,
        partition=Partition(part.profile, count, part.per_card, usable),
        competence=Competence(single.competence.build),
        facts=facts,
    )


_OF_ONE_SLICE = frozenset(
    {
        "plan.per_gpu_gb",
        "plan.allocated_gb",
        "plan.low_gb",
        "plan.high_gb",
        "plan.high_per_gpu_gb",
        "plan.available_per_gpu_gb",
        "plan.headroom_pct",
        "plan.fits",
        "plan.fit_probability",
        "plan.ttft_ms",
        "plan.tpot_ms",
        "plan.latency_ms",
        "plan.latency_mean_ms",
        "plan.ttft_judged_ms",
        "plan.tpot_judged_ms",
        "plan.latency_judged_ms",
        "plan.lateness",
        "plan.utilization",
        "plan.overloaded",
        "plan.precision",
        "plan.max_micro_batch",
    }
)


def _times(speed: SpeedEstimate, count: int) -> SpeedEstimate:
    """The speed of ``count`` slices side by side."""

    def scaled(name: str, value: float) -> float:
        return value * count if name in _RATES else value

    def build() -> dict[str, Figure]:
        return {
            name: replace(
                figure,
                value=scaled(name, figure.value),
                low=scaled(name, figure.low),
                high=scaled(name, figure.high),
                formula=f"{figure.formula}; over {count} slices" if name in _RATES else figure.formula,
            )
            for name, figure in speed.figures.items()
        }

    return SpeedEstimate({name: scaled(name, value) for name, value in speed.values.items()}, build)
