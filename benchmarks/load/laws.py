"""Laws of a queue on random serving workloads: ``python benchmarks/load/laws.py [--workloads 1000]``.

Each workload is decided; its plans are held against the laws, and the recommended one is
sized alone. Printed are how often a law applied and each miss.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


MODELS = (
    "llama-3.1-8b",
    "llama-3.1-70b",
    "qwen2.5-32b",
    "qwen2.5-0.5b",
    "mixtral-8x7b",
    "deepseek-v3",
    "gpt-oss-120b",
    "phi-4",
)
#: Networks that answer in batches.
BATCHED = ("bert-base", "whisper-large-v3", "resnet-50", "stable-diffusion-xl", "wan2.1-1.3b")
MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
#: How far a figure may be from what the others say.
LITTLE, SAME = 0.02, 0.01
#: A figure that falls by less is rounding.
SLACK = 1e-6


def workload(chance: random.Random) -> dict[str, Any]:
    """A language model or a network that answers in batches, under a closed or an open load, perhaps with targets."""
    batched = chance.random() < 0.25
    facts: dict[str, Any] = {"task": "inference", "model_name": chance.choice(BATCHED if batched else MODELS)}
    if not batched and chance.random() < 0.7:
        facts |= {"input_tokens": chance.choice((64, 512, 2000, 8000)), "output_tokens": chance.choice((32, 200, 1000))}
    if not batched and chance.random() < 0.5:
        facts["weight_precision"] = chance.choice(("bf16", "fp8", "awq-int4"))
    if not batched and chance.random() < 0.1:
        facts["expert_parallel"] = chance.choice((8, 16))
    if chance.random() < 0.5:
        facts["concurrency"] = round(2 ** chance.uniform(0, 8))
        if not batched and chance.random() < 0.2:
            facts["requests_come"] = "together"
    else:
        facts["peak_qps"] = round(2 ** chance.uniform(-4, 6), 3)
        facts["traffic_pattern"] = chance.choice(("steady", "variable", "bursty", "unpredictable"))
    if chance.random() < 0.3:
        limit = "latency_slo_ms" if batched else chance.choice(("ttft_slo_ms", "latency_slo_ms"))
        facts[limit] = chance.choice((2000, 10_000, 60_000))
    facts["objective"] = chance.choice(("cheapest", "balanced", "fastest"))
    if chance.random() < 0.3:
        facts["gpu_candidates"] = chance.sample(("nvidia-l4", "nvidia-h100-80gb-sxm", "nvidia-rtx-4090"), 2)
    return facts


def broken(facts: Mapping[str, Any], speed: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Each law that applies to the figures of one plan, and whether they break it."""
    if "in_flight" not in speed:
        return
    rate, mean = speed["requests_per_s"], speed["latency_mean_ms"] / 1e3
    yield "in flight = rate x mean time", abs(speed["in_flight"] / (rate * mean) - 1) > LITTLE
    if "concurrency" in facts:
        yield "as many in flight as are stated", abs(speed["in_flight"] / facts["concurrency"] - 1) > LITTLE
    else:
        low = speed["requests_per_s"] < facts["peak_qps"] * (1 - SAME)
        yield "an open load within capacity, or overloaded", low and not speed["overloaded"]
    for name in ("ttft", "tpot", "latency"):
        if f"{name}_p95_ms" not in speed:
            continue
        late = speed[f"{name}_p99_ms"] >= speed[f"{name}_p95_ms"] >= speed[f"{name}_ms"]
        yield "percentiles in order", not late
    yield "a share of capacity", not 0 <= speed["utilization"] <= 1


def falls(advisor: Advisor, facts: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[bool]:
    """Whether a time falls where the load on one plan rises by half."""
    name = "concurrency" if "concurrency" in facts else "peak_qps"
    heavier = dict(facts) | {
        name: facts[name] + max(1, facts[name] // 2) if name == "concurrency" else facts[name] * 1.5
    }
    before, after = (sized(advisor, load, plan) for load in (facts, heavier))
    for figure in ("ttft_ms", "ttft_p95_ms", "latency_p95_ms"):
        if figure not in before:
            continue
        yield after[figure] < before[figure] * (1 - SLACK)


def sized(advisor: Advisor, facts: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """The speed that ``size`` gives for the GPU, the count and the split of a plan."""
    split = plan["parallelism"]
    degrees = {f"{name}_parallel": split[name] for name in ("tensor", "pipeline", "data")}
    asked = advisor.read({**facts, **degrees, "gpu": plan["gpu"], "count": plan["count"]})
    speed: Any = size_workload(advisor, asked)["speed"]
    return dict(speed)


def main() -> None:
    """Decide, hold against the laws, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=14)
    options = parser.parse_args()
    advisor, chance = load_advisor(tests=False), random.Random(options.seed)
    applied, missed = Counter[str](), Counter[str]()
    for _ in range(options.workloads):
        facts = workload(chance)
        answer: Any = advisor.decide(facts, decided_at=MOMENT).to_dict(full=False)
        best = answer["recommendation"]
        if best is None:
            applied["no answer"] += 1
            continue
        found = [law for plan in (best, *answer["alternatives"]) for law in broken(facts, plan["speed"])]
        try:
            alone = sized(advisor, facts, best)
            names = ("ttft_ms", "tpot_ms", "latency_mean_ms", "tokens_per_s", "in_flight")
            found += [("size as recommend", abs(alone[n] / best["speed"][n] - 1) > SAME) for n in names if n in alone]
            found += [("times do not fall as the load rises", fell) for fell in falls(advisor, facts, best)]
        except InputError as problem:
            found.append((f"sized: {problem}", True))
        for law, is_broken in found:
            applied[law] += 1
            if is_broken:
                missed[law] += 1
                print(f"{law}: {facts} -> {best['count']} x {best['gpu']}")
    for law, number in sorted(applied.items()):
        print(f"{law}: {number}, missed {missed[law]}")


if __name__ == "__main__":
    main()
