"""What the facts of a plan are worked out from, for the trace: facts that come of the same stand together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Ground(NamedTuple):
    """Facts of a plan, without their ``plan.``, and what they are worked out from."""

    facts: frozenset[str]
    figures: tuple[str, ...]  # how the names of figures in the trace begin
    reads: tuple[str, ...]  # facts of the workload, the card and the layout


def _ground(facts: str, figures: str, reads: str) -> Ground:
    return Ground(frozenset(facts.split()), tuple(figures.split()), tuple(reads.split()))


GROUNDS = (
    _ground("needed_gb per_gpu_gb allocated_gb low_gb high_gb high_per_gpu_gb", "memory.", "plan.count"),
    _ground("fits fit_probability headroom_pct is_smallest_fit max_micro_batch", "memory.", "gpu.usable_gb plan.count"),
    _ground("vram_gb available_gb available_per_gpu_gb", "", "gpu.vram_gb gpu.usable_gb plan.count"),
    _ground("power_w", "", "gpu.tdp_w plan.count"),
    _ground("joined_nodes pcie_gpus", "", "plan.link plan.gpus_per_node plan.tensor_parallel plan.count"),
    _ground("mig_profile mig_slices", "memory.", "gpu.id plan.count"),
    _ground(
        "tokens_per_s samples_per_s capacity_tokens_per_s ttft_ms tpot_ms latency_ms latency_mean_ms in_flight"
        " utilization overloaded qps max_concurrency hours speed_vs_fastest",
        "speed.",
        "plan.count",
    ),
    _ground(
        "ttft_judged_ms tpot_judged_ms latency_judged_ms lateness meets_target meets_with_room",
        "speed.",
        "ttft_slo_ms tpot_slo_ms latency_slo_ms ttft_bearable_ms tpot_bearable_ms latency_bearable_ms"
        " run_bearable_hours"
        " slo_percentile min_tokens_per_s peak_qps deadline_hours",
    ),
    _ground("usd_per_hour usd_per_month rented_usd_per_hour gpus_usd gpus_bought", "cost.", "plan.count"),
    _ground("budget_hours", "cost.", "budget_usd_per_month plan.count"),
    _ground(
        "usd_per_run usd_per_1m_tokens usd_per_1k_samples cost_vs_cheapest",
        "cost. speed.tokens_per_s speed.samples_per_s speed.hours",
        "plan.count",
    ),
    _ground("provider provider_class region assumed_price", "cost.", "plan.count"),
    _ground(
        "owned bought offered", "", "gpus_owned procurement_wish deployment_site rent_quote_usd_h plan.gpu plan.count"
    ),
    _ground("named", "", "gpu_candidates current_gpu plan.gpu"),
)
#: Facts that stand in no ground are worked out from all of these.
_EVERYTHING = Ground(
    frozenset(),
    tuple(dict.fromkeys(figure for ground in GROUNDS for figure in ground.figures)),
    ("gpu.tdp_w", "gpu.usable_gb", "plan.count"),
)


def grounded(facts: Iterable[str]) -> Iterator[tuple[Ground, list[str]]]:
    """Facts of a plan by what they are worked out from."""
    rest = list(facts)
    for ground in GROUNDS:
        own = [name for name in rest if name.removeprefix("plan.") in ground.facts]
        if own:
            yield ground, own
            rest = [name for name in rest if name not in own]
    if rest:
        yield _EVERYTHING, rest
