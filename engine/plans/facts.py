"""The ``plan.*`` facts of a plan, as rules read them. What is not known is absent."""

from __future__ import annotations

from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.core import Value
from whichgpu.engine.plans.model import Cost
from whichgpu.engine.plans.topology import Fabric
from whichgpu.engine.sizing import Layout, MemoryEstimate


#: Links over which several GPUs wait for each other: the bus of the machine, or none at all.
_SLOW_LINKS = ("none", "pcie")
_SPEEDS = ("tokens_per_s", "samples_per_s", "ttft_ms", "tpot_ms", "latency_ms", "qps", "hours")
_SPEED_FACTS = tuple((name, f"plan.{name}") for name in _SPEEDS)


def plan_facts(
    gpu: Gpu,
    layout: Layout,
    fabric: Fabric,
    *,
    machines: int,
    training: bool,
    precision: str | None,
    memory: MemoryEstimate | None,
    fits: bool | None,
    smallest: int | None,
    batch: int | None,
    speeds: dict[str, float],
    meets_target: bool | None,
    cost: Cost,
    power_w: float | None,
    named: bool = False,
) -> dict[str, Value]:
    """All ``plan.*`` facts up to the survey; names and units as in the architecture page.

    Args:
        gpu: the accelerator.
        layout: tensor x pipeline x data.
        fabric: how copies of the GPU are joined.
        machines: servers that hold it; replicas may stand in smaller ones than the fabric allows.
        training: whether weights change; replicas are copies that serve.
        precision: of the weights, or of the arithmetic in training.
        memory: per GPU, or None.
        fits: judged on the cautious side, or None.
        smallest: the smallest count of this GPU that fits, or None.
        batch: largest micro-batch, or simultaneous requests per replica, that fits.
        speeds: figures by name.
        meets_target: or None where no target is stated.
        cost: of the plan.
        power_w: rated draw.
        named: whether the user named this GPU.
    """
    count = layout.count
    facts = _shape_facts(gpu, layout, fabric, machines, training=training)
    facts |= origin_facts(cost)
    facts["plan.named"] = named
    if not training:
        facts["plan.replicas"] = layout.data
    if precision is not None:
        facts["plan.precision"] = precision
    _add_memory(facts, memory, gpu, count)
    if smallest is not None:
        facts["plan.smallest_count"] = smallest
    if fits is not None:
        facts["plan.fits"] = fits
        facts["plan.is_smallest_fit"] = fits and (smallest is None or count <= smallest)
    if batch is not None:
        facts["plan.max_micro_batch"] = batch
    for name, fact in _SPEED_FACTS:
        if name in speeds:
            facts[fact] = speeds[name]
    if "max_concurrency" in speeds:
        facts["plan.max_concurrency"] = int(speeds["max_concurrency"])
    if meets_target is not None:
        facts["plan.meets_target"] = meets_target
    facts |= cost_facts(cost)
    if power_w is not None:
        facts["plan.power_w"] = power_w
    return facts


def _shape_facts(gpu: Gpu, layout: Layout, fabric: Fabric, machines: int, *, training: bool) -> dict[str, Value]:
    count = layout.count
    inside = -(-count // machines)
    link = fabric.link_of(inside)
    return {
        "plan.gpu": gpu.id,
        "plan.family": gpu.family,
        "plan.count": count,
        "plan.nodes": machines,
        "plan.joined_nodes": fabric.nodes(count if training else layout.tensor * layout.pipeline),
        "plan.gpus_per_node": inside,
        "plan.link": link,
        "plan.pcie_gpus": count if inside > 1 and link in _SLOW_LINKS else 0,
        "plan.node_link": fabric.node_link_of(count),
        "plan.tensor_parallel": layout.tensor,
        "plan.pipeline_parallel": layout.pipeline,
        "plan.data_parallel": layout.data,
        "plan.sharding": layout.sharding,
    }


def _add_memory(facts: dict[str, Value], memory: MemoryEstimate | None, gpu: Gpu, count: int) -> None:
    usable = gpu.usable_gb
    if gpu.vram_gb is not None:
        facts["plan.vram_gb"] = gpu.vram_gb * count
    if usable is not None:
        facts["plan.available_gb"] = usable * count
        facts["plan.available_per_gpu_gb"] = usable
    if memory is None:
        return
    facts["plan.needed_gb"] = memory.per_gpu_gb * count
    facts["plan.per_gpu_gb"] = memory.per_gpu_gb
    facts["plan.allocated_gb"] = memory.allocated_gb * count
    facts["plan.low_gb"] = memory.low_gb * count
    facts["plan.high_gb"] = memory.high_gb * count
    facts["plan.high_per_gpu_gb"] = memory.high_gb
    if usable:
        facts["plan.headroom_pct"] = 100.0 * (1.0 - memory.per_gpu_gb / usable)


def origin_facts(cost: Cost) -> dict[str, Value]:
    """Whether there is a price, and whether it is that of hardware of one's own."""
    return {
        "plan.offered": cost.origin != "none",
        "plan.owned": cost.origin == "owned",
        "plan.bought": cost.origin == "purchase",
    }


#: Figures of a cost that are facts of a plan, by their names in both.
_COST_FACTS = tuple(
    (name, f"plan.{name}")
    for name in (
        "usd_per_hour",
        "usd_per_month",
        "usd_per_run",
        "usd_per_1m_tokens",
        "usd_per_1k_samples",
        "rented_usd_per_hour",
    )
)


def cost_facts(cost: Cost) -> dict[str, Value]:
    """What is known of a cost, and the offer behind it."""
    facts: dict[str, Value] = {}
    for name, fact in _COST_FACTS:
        value = getattr(cost, name)
        if value is not None:
            facts[fact] = value
    offer = cost.offer
    if offer is not None:
        facts["plan.assumed_price"] = cost.assumed
        facts["plan.price_quotes"] = cost.quotes
        facts["plan.provider_class"] = offer.provider_class
        facts["plan.provider"] = offer.provider
        if offer.region:
            facts["plan.region"] = offer.region
    return facts
