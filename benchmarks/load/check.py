"""The engine's queue beside the simulated scheduler: ``python benchmarks/load/check.py [--worst 15]``.

Both are given the same steps, those of the engine, over a seeded grid: measured configurations, lengths, closed loops
from 1 to 128 and open ones from a third to nine tenths of capacity. Printed are ratios formula / simulation by figure
and kind of load.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from msgspec import structs


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from load.fit import inputs_of
from load.points import points
from load.simulator import Load, Outcome, Replica, simulate, simulate_batches
from whichgpu.engine.advisor.advisor import load_advisor
from whichgpu.engine.sizing import queueing, speed_rates, speed_serving
from whichgpu.engine.sizing.batching import BatchServer, opened_batches
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_serving import Steps


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
AT_ONCE = "closed, together"
#: Seconds until a client who got an answer asks again: less than a step, and never before the next one begins.
REPLY_S = 0.002


def served(steps: Steps, answer: int, replica: Replica, load: Load) -> queueing.Replica:
    """The engine's replica of a simulated one. The simulation knows no front end, which the engine adds."""
    constants = speed_constants().serving
    none = structs.replace(constants.tail, value=0.0, low=0.0)
    # Nor does it tell when requests end: their lengths are drawn at random.
    alone = structs.replace(constants, request_overhead_ms=none, token_attended_us=none, clump=none)
    max_batch = replica.cache_tokens / (load.input_tokens + answer / 2.0)
    places = np.clip(np.array([max_batch]), 1.0, float(replica.max_batch))
    step, lengthened = steps.without_and_with(1.0)
    share = load.input_tokens / replica.token_budget
    return queueing.Replica(steps, answer, places, lengthened - step, share, alone)


def formula(steps: Steps, replica: Replica, load: Load) -> dict[str, float]:
    """What the engine's closed or open loop says."""
    answer = load.output_tokens
    served_by_one = served(steps, answer, replica, load)
    if load.concurrency is not None:
        wave = load.requests == load.concurrency
        times = queueing.closed(served_by_one, np.array([float(load.concurrency)]), together=wave)
        present = float(load.concurrency)
    else:
        times = queueing.opened(served_by_one, np.array([load.rate or 0.0]), 1.0)
        present = (load.rate or 0.0) * float(times.end_to_end(answer)[0])
    return {
        "tokens_per_s": present * answer / float(times.end_to_end(answer)[0]),
        "ttft_ms": 1e3 * float(times.first_p50[0]),
        "tpot_ms": 1e3 * float(times.token[0]),
        "ttft_p95_ms": 1e3 * float(times.first_p95[0]),
        "tpot_p95_ms": 1e3 * float(times.token_p95[0]),
        "in_flight": present,
    }


def grid() -> Iterator[tuple[str, str, Steps, Replica, Load]]:
    """Configuration, kind of load, steps, replica and load."""
    every = points()
    starts = [next(point for point in every if point.id.startswith(start)) for start in CONFIGURATIONS.values()]
    inputs = inputs_of(starts, load_advisor(tests=False))
    for name, point in zip(CONFIGURATIONS, starts, strict=True):
        one = inputs[point.id]
        tokens = int(one.max_batch[0] * one.job.context_tokens)
        for asked, answered in LENGTHS:
            job = structs.replace(one.job, input_tokens=asked, output_tokens=answered)
            load = speed_serving.load_of(job, job.shape, one.split.rows)
            rates = speed_rates.rates_of(job, one.table).take(one.which)
            # Prompts that start kernels one by one are no matter of queues.
            steps = speed_serving.steps_of(load, rates, one.split)._replace(eager_floor=0.0)

            def step_s(prompt: int, decoding: int, _: float, steps: Steps = steps) -> float:
                return float(steps.without_and_with(max(1, decoding), prompt / steps.prompt_tokens)[1][0])

            replica = Replica(step_s, max_batch=256, token_budget=2048, cache_tokens=tokens)
            base = Load(1, input_tokens=asked, output_tokens=answered, spread=0.3, seed=SEED)
            most = 0.0
            for concurrency in CONCURRENCIES:
                amount = max(100, 5 * concurrency)
                stagger = answered * step_s(0, concurrency, float(asked))
                closed = replace(base, concurrency=concurrency, requests=amount, stagger_s=stagger, reply_s=REPLY_S)
                yield name, "closed", steps, replica, closed
                most = max(most, formula(steps, replica, closed)["tokens_per_s"] / answered)
                if concurrency in {16, 64}:
                    wave = replace(closed, stagger_s=0.0, spread=0.0, requests=concurrency)
                    yield name, AT_ONCE, steps, replica, wave
            for share in SHARES_OF_CAPACITY:
                yield name, "open", steps, replica, replace(base, concurrency=None, rate=share * most, requests=400)


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


#: Servers of batches: seconds of one request, of each further one, and the largest batch.
BATCH_SERVERS = ((0.1, 0.0, 1), (0.1, 0.001, 64), (0.1, 0.01, 32), (0.02, 0.02, 16), (0.5, 0.02, 32))
#: Copies that take single requests from one queue.
REPLICAS = (2, 4, 8, 32)


def batch_ratios() -> Iterator[tuple[str, str, float, str]]:
    """Kind, figure, formula / simulation, and words of each server of batches under an open load."""
    single = BATCH_SERVERS[0]
    for (start, each, most), replicas in [*((server, 1) for server in BATCH_SERVERS), *((single, c) for c in REPLICAS)]:

        def service(batch: Any, start: float = start, each: float = each) -> Any:
            return start + each * (batch - 1.0)

        server = BatchServer(service, np.array([float(most)]), sharing=replicas)
        for share in SHARES_OF_CAPACITY:
            rate = share * server.capacity
            waits = opened_batches(server, rate, 1.0)
            every = float(rate[0]) * replicas
            found = simulate_batches(service, most, every, requests=20_000, seed=SEED, replicas=replicas)
            for name in ("mean", "p50", "p95"):
                words = f"{replicas} x batches of {most}, {start} s and {each} s each: {share} of capacity"
                kind = "batches" if replicas == 1 else "one queue of replicas"
                yield kind, f"latency {name}", float(getattr(waits, name)[0]) / getattr(found, name), words


def main() -> None:
    """Simulate the grid, ask the engine, print ratios and the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worst", type=int, default=12, help="how many of the largest misses")
    options = parser.parse_args()
    ratios: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for name, kind, steps, replica, load in grid():
        found = simulated(simulate(replica, load))
        asked = f"{load.concurrency} in flight" if load.concurrency else f"{load.rate:.3g} a second"
        words = f"{name}, {load.input_tokens} in, {load.output_tokens} out, {kind}: {asked}"
        for figure, value in formula(steps, replica, load).items():
            if found[figure] > 0:
                ratios[kind, figure].append((value / found[figure], words))
    for kind, figure, ratio, words in batch_ratios():
        ratios[kind, figure].append((ratio, words))
    print("formula / simulation: loads, median ratio, within 1.1, 1.3 and 2")
    for (kind, figure), pairs in sorted(ratios.items()):
        factors = [max(ratio, 1.0 / ratio) for ratio, _ in pairs]
        shares = " ".join(f"{sum(f <= limit for f in factors) / len(factors):5.0%}" for limit in (1.1, 1.3, 2.0))
        print(f"  {kind:20} {figure:13} {len(pairs):3} {median(ratio for ratio, _ in pairs):6.2f} {shares}")
    print("\nworst")
    every = [
        (max(ratio, 1.0 / ratio), ratio, figure, words)
        for (_, figure), pairs in ratios.items()
        for ratio, words in pairs
    ]
    for _, ratio, figure, words in sorted(every, reverse=True)[: options.worst]:
        print(f"  {ratio:7.2f} {figure:13} {words}")


if __name__ == "__main__":
    main()
