"""Closed formulas beside the simulated scheduler: ``python benchmarks/load/check.py [--worst 15]``.

A formula is a callable with the simulation's own inputs, the replica and the load. Every formula is asked over a seeded
grid: measured configurations (their step times by the engine's speed model), lengths, closed loops from 1 to 128
and open ones from a third to nine tenths of capacity. Printed are ratios formula / simulation by figure and kind of
load. Formulas today: what ``size`` computes, and the steady stream of PROPOSAL.md.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from load.features import Features, features_of
from load.points import points
from load.simulator import Load, Outcome, Replica, StepTime, simulate
from whichgpu.engine.advisor.advisor import load_advisor


Formula = Callable[[Replica, Load], Mapping[str, float]]
FIGURES = ("tokens_per_s", "ttft_ms", "tpot_ms", "ttft_p95_ms", "tpot_p95_ms", "in_flight")
#: Configurations whose step times are used: dense and sparse, one card and several, roomy and tight.
CONFIGURATIONS = {
    "8B fp16, H100": "aurotripathy-h100x1-fp16-464-85-c1-",
    "70B fp8, 2 x H100": "aurotripathy-h100x2-fp8-464-85-c1-",
    "gpt-oss-120b, H200": "gloria-gptoss120b-h200x1-results_exp-c1",
    "27B int4, 2 x RTX 3090": "lotto3090-L10-c1-",
}
LENGTHS = ((128, 128), (1024, 128), (1024, 512), (4096, 128))
CONCURRENCIES = (1, 4, 16, 64, 128)
SHARES_OF_CAPACITY = (0.3, 0.6, 0.9)
SEED = 14


def step_time_of(features: Features) -> StepTime:
    """The engine's speed model as a step of the scheduler: what both parts of a step move and compute, together.

    A step reads the weights once; prompts and decoding share it. Experts are read as the step's tokens hit them.
    """
    load, rates = features.load, features.rates
    bandwidth, decode, prefill = (
        float(rate[0]) * features.layout.pipeline for rate in (rates.bandwidth, rates.decode, rates.prefill)
    )
    middle = features.job.input_tokens + features.job.output_tokens / 2.0
    cache_per_token = number(load.cache_bytes) / middle
    shared, experts, token_flops = (number(v) for v in (load.shared_bytes, load.expert_bytes, load.token_flops))
    prompt_flops = number(load.prefill_flops) / features.job.input_tokens
    fixed = load.layers * (rates.per_layer + (rates.per_moe_layer if experts else 0.0)) + rates.per_step
    exchanged = features.layout.tensor > 1
    wire, latency = number(features.link.gbs) * 1e9, number(features.link.latency_s)
    ring = 2.0 * (features.layout.tensor - 1) / features.layout.tensor * load.exchange_bytes

    def step_s(prompt: int, decoding: int, context: float) -> float:
        tokens = prompt + decoding
        hit = 1.0 - (1.0 - load.expert_share) ** tokens
        memory = (shared + experts * hit + cache_per_token * decoding * context) / bandwidth
        arithmetic = decoding * token_flops / decode + prompt * prompt_flops / prefill
        exchange = 2 * load.layers * (latency + ring * tokens / wire) if exchanged else 0.0
        return max(memory, arithmetic, load.layers * rates.launch_floor) + fixed + exchange

    return step_s


def number(value: object) -> float:
    """The one entry of a column, or a plain number."""
    entries = getattr(value, "reshape", None)
    return float(entries(-1)[0]) if entries else float(value)  # type: ignore[arg-type]


def today(replica: Replica, load: Load) -> dict[str, float]:
    """What ``size`` computes: nobody waits for a prompt but its own request; an open load is one request in flight."""
    sequences = load.concurrency or 1
    middle = load.input_tokens + load.output_tokens / 2.0
    step, fill = replica.step_s(0, sequences, middle), replica.step_s(load.input_tokens, 0, 0.0)
    requests = sequences / (load.output_tokens * step + sequences * fill)
    tokens = requests * load.output_tokens
    return {"tokens_per_s": tokens, "ttft_ms": 1e3 * (fill + step), "tpot_ms": 1e3 * step, "in_flight": sequences}


def steady_stream(replica: Replica, load: Load) -> dict[str, float]:
    """The proposal: prompts let in lengthen the steps of all who decode, and queue for one another (M/D/1)."""
    if load.concurrency is not None:
        return _with(replica, load, float(load.concurrency))
    low, high = 1e-6, 16.0 * replica.max_batch
    for _ in range(60):  # In flight = rate x time, by bisection: the rate served rises with those in flight.
        middle = math.sqrt(low * high)
        served = _with(replica, load, middle)["tokens_per_s"] / load.output_tokens
        low, high = (middle, high) if served < (load.rate or 0.0) else (low, middle)
    return _with(replica, load, high)


def _with(replica: Replica, load: Load, present: float) -> dict[str, float]:
    asked, answered = load.input_tokens, load.output_tokens
    room = replica.cache_tokens / (asked + answered / 2.0)
    held = min(present, float(replica.max_batch), room)
    # Whoever arrives by chance sees as many as there are on average; the next request of a closed loop, one less.
    context, others = asked + answered / 2.0, held if load.rate is not None else max(0.0, held - 1.0)
    beside = max(1, round(held)) if held >= 1 else 0
    step = replica.step_s(0, max(1, round(held)), context)
    # A prompt's pieces, each in a step with those who decode; what a piece adds to that step is its interference.
    piece = max(1, min(asked, replica.token_budget - round(others)))
    pieces = asked / piece
    own = pieces * replica.step_s(piece, round(others), context)
    added = pieces * max(0.0, replica.step_s(piece, beside, context) - step)
    token = step + others * added / answered
    busy = min(0.98, held * added / (held * added + answered * step))
    queue = min(others / 2.0, busy / (2.0 * (1.0 - busy))) * own
    # Who arrives at any time waits for the end of a step; the next request of a closed loop comes as a step ends.
    residual = min(1.0, held) * token / 2.0 if load.rate is not None else 0.0
    first = own + queue + residual
    service = first + (answered - 1) * token
    over = max(0.0, present - held) / held * service
    # The wait of an M/D/1 queue falls off as an exponential: its p95 is about three means; its median less than one.
    return {
        "tokens_per_s": held * answered / service,
        "ttft_ms": 1e3 * (own + residual + 0.7 * queue + over),
        "tpot_ms": 1e3 * token,
        "ttft_p95_ms": 1e3 * (own + 2.0 * residual + 3.0 * queue + over),
        "tpot_p95_ms": 1e3 * (token + 1.6 * math.sqrt(others * busy) * added / answered),
        "in_flight": present,
    }


FORMULAS: dict[str, Formula] = {"today": today, "steady stream": steady_stream}


def grid() -> Iterator[tuple[str, str, Replica, Load]]:
    """Configuration, kind of load, replica and load."""
    advisor, every = load_advisor(tests=False), points()
    for name, start in CONFIGURATIONS.items():
        features = features_of(next(point for point in every if point.id.startswith(start)), advisor)
        if features is None:
            continue
        tokens = int(features.room * (features.job.input_tokens + features.job.output_tokens))
        replica = Replica(step_time_of(features), max_batch=256, token_budget=2048, cache_tokens=tokens)
        for asked, answered in LENGTHS:
            base = Load(1, input_tokens=asked, output_tokens=answered, spread=0.3, seed=SEED)
            most = 0.0
            for concurrency in CONCURRENCIES:
                amount = max(100, 5 * concurrency)
                stagger = answered * replica.step_s(0, concurrency, float(asked))
                load = replace(base, concurrency=concurrency, requests=amount, stagger_s=stagger)
                yield name, "closed", replica, load
                most = max(most, steady_stream(replica, load)["tokens_per_s"] / answered)
                if concurrency in {16, 64}:
                    yield name, "closed, all at once", replica, replace(load, stagger_s=0.0, spread=0.0)
            for share in SHARES_OF_CAPACITY:
                yield name, "open", replica, replace(base, concurrency=None, rate=share * most, requests=400)


def simulated(outcome: Outcome) -> dict[str, float]:
    """The figures of a simulation by the names of the formulas."""
    return {
        "tokens_per_s": outcome.tokens_per_s,
        "ttft_ms": 1e3 * outcome.ttft_s.p50,
        "tpot_ms": 1e3 * outcome.tpot_s.p50,
        "ttft_p95_ms": 1e3 * outcome.ttft_s.p95,
        "tpot_p95_ms": 1e3 * outcome.tpot_s.p95,
        "in_flight": outcome.in_flight,
    }


def main() -> None:
    """Simulate the grid, ask the formulas, print ratios and the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worst", type=int, default=12, help="how many of the largest misses of each formula")
    options = parser.parse_args()
    ratios: dict[tuple[str, str, str], list[tuple[float, str]]] = defaultdict(list)
    for name, kind, replica, load in grid():
        found = simulated(simulate(replica, load))
        asked = f"{load.concurrency} in flight" if load.concurrency else f"{load.rate:.3g} a second"
        words = f"{name}, {load.input_tokens} in, {load.output_tokens} out, {kind}: {asked}"
        for formula, ask in FORMULAS.items():
            for figure, value in ask(replica, load).items():
                if found[figure] > 0:
                    ratios[formula, kind, figure].append((value / found[figure], words))
    print("formula / simulation: loads, median ratio, within 1.1, 1.3 and 2")
    for (formula, kind, figure), pairs in sorted(ratios.items()):
        factors = [max(ratio, 1.0 / ratio) for ratio, _ in pairs]
        shares = " ".join(f"{sum(f <= limit for f in factors) / len(factors):5.0%}" for limit in (1.1, 1.3, 2.0))
        middle = median(ratio for ratio, _ in pairs)
        print(f"  {formula:14} {kind:20} {figure:13} {len(pairs):3} {middle:6.2f} {shares}")
    for formula in FORMULAS:
        print(f"\nworst of {formula}")
        every = [
            (max(ratio, 1.0 / ratio), ratio, figure, words)
            for (name, _, figure), pairs in ratios.items()
            if name == formula
            for ratio, words in pairs
        ]
        for _, ratio, figure, words in sorted(every, reverse=True)[: options.worst]:
            print(f"  {ratio:7.2f} {figure:13} {words}")


if __name__ == "__main__":
    main()
