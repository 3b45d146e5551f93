"""What the facts of a plan are computed from, for the trace: facts with the same inputs stand together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from whichgpu.engine.advisor.measures import is_job
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.plans import Plan, SourcedAmount
from whichgpu.engine.sizing import Figure, Term


#: A computed number with what it was made from.
Computed = Term | Figure | SourcedAmount
#: Facts of a plan that are choices of the planner; all else about it is computed.
LAYOUT_FACTS = frozenset(
    f"plan.{name}"
    for name in (
        *("count", "data_parallel", "family", "gpu", "gpus_per_node", "link", "node_link", "nodes"),
        *("pipeline_parallel", "precision", "replicas", "sharding", "smallest_count", "tensor_parallel"),
    )
)
#: What the price list is counted for.
PRICE_LIST_FACTS = frozenset({"plan.price_quotes"})
#: What the points of a term weigh, beside the best plan by it.
TERM_EXPLANATIONS = {
    "cost": "the price for the work and what surrounds the GPUs, beside the cheapest",
    "speed": "the time for the work and the number of GPUs, beside the fastest",
}


class Provenance(NamedTuple):
    """Facts of a plan, without their ``plan.``, and what they are computed from."""

    facts: frozenset[str]
    figures: tuple[str, ...]  # how the names of figures in the trace begin
    reads: tuple[str, ...]  # facts of the workload, the card and the layout


def _provenance(facts: str, figures: str, reads: str) -> Provenance:
    return Provenance(frozenset(facts.split()), tuple(figures.split()), tuple(reads.split()))


PLAN_PROVENANCE = (
    _provenance("needed_gb per_gpu_gb allocated_gb low_gb high_gb high_per_gpu_gb", "memory.", "plan.count"),
    _provenance(
        "fits fit_probability headroom_pct is_smallest_fit max_micro_batch", "memory.", "gpu.usable_gb plan.count"
    ),
    _provenance("vram_gb available_gb available_per_gpu_gb", "", "gpu.vram_gb gpu.usable_gb plan.count"),
    _provenance(
        "host_memory_gb",
        "",
        "cpu_offload offloaded_state param_count_b peft_method optimizer compute_precision weight_precision"
        " plan.sharding training_framework plan.nodes",
    ),
    _provenance("power_w", "", "gpu.tdp_w plan.count"),
    _provenance("joined_nodes pcie_gpus", "", "plan.link plan.gpus_per_node plan.tensor_parallel plan.count"),
    _provenance("mig_profile mig_slices", "memory.", "gpu.id plan.count"),
    _provenance(
        "tokens_per_s samples_per_s capacity_tokens_per_s ttft_ms tpot_ms latency_ms latency_mean_ms in_flight"
        " utilization overloaded qps max_concurrency hours step_s speed_vs_fastest",
        "speed.",
        "plan.count",
    ),
    _provenance(
        "ttft_judged_ms tpot_judged_ms latency_judged_ms lateness meets_target meets_with_room",
        "speed.",
        "ttft_slo_ms tpot_slo_ms latency_slo_ms ttft_bearable_ms tpot_bearable_ms latency_bearable_ms"
        " run_bearable_hours"
        " slo_percentile min_tokens_per_s peak_qps deadline_hours",
    ),
    _provenance("usd_per_hour usd_per_month rented_usd_per_hour gpus_usd gpus_bought", "cost.", "plan.count"),
    _provenance("budget_hours", "cost.", "budget_usd_per_month plan.count"),
    _provenance(
        "usd_per_run usd_per_1m_tokens usd_per_1k_samples cost_vs_cheapest",
        "cost. speed.tokens_per_s speed.samples_per_s speed.hours",
        "plan.count",
    ),
    _provenance("provider provider_class region assumed_price", "cost.", "plan.count"),
    _provenance(
        "owned bought offered", "", "gpus_owned procurement_wish deployment_site rent_quote_usd_h plan.gpu plan.count"
    ),
    _provenance("named", "", "gpu_candidates current_gpu plan.gpu"),
)
#: Facts that stand nowhere above are computed from all of these.
_EVERYTHING = Provenance(
    frozenset(),
    tuple(dict.fromkeys(figure for provenance in PLAN_PROVENANCE for figure in provenance.figures)),
    ("gpu.tdp_w", "gpu.usable_gb", "plan.count"),
)


def by_provenance(facts: Iterable[str]) -> Iterator[tuple[Provenance, list[str]]]:
    """Facts of a plan by what they are computed from."""
    rest = list(facts)
    for provenance in PLAN_PROVENANCE:
        own = [name for name in rest if name.removeprefix("plan.") in provenance.facts]
        if own:
            yield provenance, own
            rest = [name for name in rest if name not in own]
    if rest:
        yield _EVERYTHING, rest


def parts_of_facts(facts: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
    """The facts of a plan: those of its GPU, those of its layout, and the rest."""
    device = {name: value for name, value in facts.items() if name.startswith("gpu.")}
    layout = {name: value for name, value in facts.items() if name in LAYOUT_FACTS}
    return device, layout, {n: value for n, value in facts.items() if n not in device and n not in layout}


def plan_numbers(plan: Plan) -> list[tuple[str, Computed]]:
    """The terms of a plan's memory and the figures of its speed, each with its name in the trace."""
    terms: list[tuple[str, Computed]] = [(f"memory.{t.name}_gb", t) for t in (plan.memory.terms if plan.memory else ())]
    figures = plan.speed.figures if plan.speed else {}
    return terms + [(f"speed.{name}", figure) for name, figure in sorted(figures.items())]


def term_inputs(reason: str, facts: Facts) -> list[str]:
    """What the objective's term of cost or speed was computed from: see ``measures.measures_of``."""
    rate = next((name for name in ("plan.tokens_per_s", "plan.samples_per_s") if facts.get(name)), "plan.tokens_per_s")
    length = ["plan.usd_per_run"] if facts.get("plan.usd_per_run") else [rate]
    if reason.startswith("cost"):
        names = ["plan.usd_per_hour", *(length if is_job(facts) else ()), "plan.lateness"]
    else:
        waited = not is_job(facts) and facts.get("plan.latency_mean_ms")
        names = ["plan.latency_mean_ms" if waited else rate, "plan.count"]
    return [name for name in (*names, "objective") if name in facts]
