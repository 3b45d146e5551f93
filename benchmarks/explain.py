"""Nearest flips held to their claims: random decisions, some GPUs each, every change decided again as a person types.

    python benchmarks/explain.py [--decisions 200] [--gpus 3] [--limit 300] [--seed 1]

The workloads are drawn from tasks, sizes, precisions, loads, targets, sites and stages that people state, a random
subset of them each. Of every decision, GPUs that are not recommended are drawn from the whole catalogue, and the search
of ``why-not`` is run. A claim that does not hold is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from whichgpu import load_advisor
from whichgpu.engine.explain.derivation import Phrases
from whichgpu.engine.explain.fact_changes import read_back, with_changes
from whichgpu.engine.explain.nearest import REACHED
from whichgpu.engine.explain.whynot import why_not
from whichgpu.engine.records.again import decide_again, recorded_facts


MOMENT = datetime(2026, 6, 1, tzinfo=UTC)
SIZES_B = (1, 3, 7, 8, 13, 20, 34, 70, 120, 405)

Facts = dict[str, Any]


def workload(chance: random.Random) -> Facts:
    """A workload as somebody might state it."""
    kind = chance.choice(("inference", "inference", "peft", "full", "pretraining"))
    facts: Facts = {"param_count_b": chance.choice(SIZES_B[:6] if kind == "pretraining" else SIZES_B)}
    maybe: Facts = {
        "deployment_site": chance.choice(("cloud", "datacenter", "workstation")),
        "org_type": chance.choice(("student", "individual", "startup", "enterprise")),
        "lifecycle_stage": chance.choice(("prototype", "development", "training", "production")),
        "budget_class": chance.choice(("tight", "moderate", "ample")),
        "utilization_pct": chance.choice((5, 20, 45, 65, 75, 90)),
        "project_months": chance.choice((1, 3, 6, 12, 24, 36)),
        "objective": chance.choice(("cheapest", "balanced", "fastest")),
        "runs_cadence": chance.choice(("one_off", "sporadic", "weekly", "continuous")),
        "mission_critical": chance.random() < 0.5,
        "rocm_ok": chance.random() < 0.5,
    }
    if kind == "inference":
        facts["task"] = "inference"
        maybe |= {
            "weight_precision": chance.choice(("fp16", "bf16", "fp8", "int8", "int4")),
            "concurrency": chance.choice((1, 4, 16, 64, 256)),
            "input_tokens": chance.choice((200, 1000, 4000, 16000)),
            "output_tokens": chance.choice((50, 200, 800)),
            "peak_qps": chance.choice((0.1, 1, 5, 20)),
            "ttft_slo_ms": chance.choice((200, 500, 2000)),
            "tpot_slo_ms": chance.choice((25, 50, 100)),
            "serving_mode": chance.choice(("interactive", "batch")),
            "traffic_pattern": chance.choice(("steady", "bursty")),
        }
    else:
        facts["task"] = {"peft": "peft_finetuning", "full": "full_finetuning"}.get(kind, kind)
        if kind == "peft":
            facts["peft_method"] = chance.choice(("lora", "qlora"))
        maybe |= {
            "batch_size_per_gpu": chance.choice((1, 2, 8)),
            "seq_len_tokens": chance.choice((512, 2048, 8192)),
            "train_tokens_b": chance.choice((0.01, 0.1, 1, 20)),
        }
    return facts | {name: value for name, value in maybe.items() if chance.random() < 0.5}


def main() -> int:
    """Run, print the figures, and say whether every claim held."""
    parser = argparse.ArgumentParser()
    for name, default in (("decisions", 200), ("gpus", 3), ("limit", 300), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    advisor = load_advisor()
    phrases = Phrases(advisor.vocabulary)
    plannable = sorted(gpu.id for gpu in advisor.knowledge.gpus.values() if gpu.plannable)
    chance = random.Random(options.seed)
    standings: Counter[str] = Counter()
    found: Counter[str] = Counter()
    claims = failures = 0
    used: list[int] = []
    took: list[float] = []
    for number in range(options.decisions):
        if number and number % 10 == 0:
            print(f"{number} decisions, {claims} claims, {failures} do not hold", file=sys.stderr, flush=True)
        decision = advisor.decide(workload(chance), decided_at=MOMENT).to_dict()
        plan = decision["recommendation"]
        others = [gpu for gpu in plannable if plan is None or gpu != plan["gpu"]]
        for gpu in chance.sample(others, options.gpus):
            start = time.perf_counter()
            answer = why_not(decision, gpu, advisor, limit=options.limit, phrases=phrases)
            took.append(time.perf_counter() - start)
            standings[answer.standing] += 1
            if answer.search is None:
                continue
            used.append(answer.search.decisions)
            found["wins"] += bool(answer.search.wins)
            found["fits"] += bool(answer.search.fits)
            found["wins by a pair alone"] += bool(answer.search.wins) and len(answer.search.wins[0].changes) == 2
            for nearest in (*answer.search.wins, *answer.search.fits):
                claims += 1
                given = recorded_facts(decision, advisor)
                sets = [f"{change.fact}={read_back(change.after)}" for change in nearest.changes]
                changed = with_changes(given, sets, advisor)
                turned = any(change.fact == "objective" for change in nearest.changes)
                objective = str(changed.get("objective", advisor.default_objective)) if turned else None
                outcome = decide_again(decision, advisor, given=changed, objective=objective).outcome
                if REACHED[nearest.goal](outcome, frozenset(answer.gpus)) != nearest.plan:
                    failures += 1
                    print(f"decision {number}, {gpu}: {nearest} does not hold")
    print(f"{options.decisions} decisions, {options.gpus} GPUs each, at most {options.limit} re-decisions a search")
    print(f"standings: {dict(sorted(standings.items()))}")
    print(f"searches that found something: {dict(sorted(found.items()))} of {len(used)}")
    print(f"claims: {claims}, that do not hold: {failures}")
    if used:
        print(f"re-decisions a search: median {statistics.median(used):.0f}, most {max(used)}")
        print(f"seconds a search: median {statistics.median(took):.2f}, most {max(took):.2f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
