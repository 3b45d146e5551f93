"""Whether a change left memory and speed of plans as they were: ``--keep FILE``, later ``--against FILE``.

Twenty thousand random pairs of a job and a plan, over every kind of job: any GPU, any split, most of them none that
the search would take. Kept are memory with its band and summands, and every figure of speed with its band. Compared to
1e-9, relative. It measures the ``engine`` that PYTHONPATH points to, or else that of this checkout.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from decision_laws.generator import workloads

from whichgpu.engine.advisor.advisor import load_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.plans.topology import fabric_of
from whichgpu.engine.sizing.demand import demand_of
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.memory import estimate_memory
from whichgpu.engine.sizing.speed import JobSpeed


SEED, PLANS_EACH, TOLERANCE = 77, 50, 1e-9
DEGREES = (1, 1, 1, 2, 2, 3, 4, 4, 6, 8, 8, 12, 16)
SHARDINGS = ("none", "zero1", "zero2", "zero3", "fsdp")


def main() -> None:
    """Keep the figures, or compare with those that were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=400, help="workloads; each gives fifty plans")
    parser.add_argument("--keep", type=Path, help="write the figures to this file")
    parser.add_argument("--against", type=Path, help="compare with the figures in this file")
    asked = parser.parse_args()
    found = figures(asked.jobs)
    if asked.keep:
        asked.keep.write_text(json.dumps(found))
        print(f"kept {len(found)} plans")
    if asked.against:
        kept = {name: entry for name, entry in json.loads(asked.against.read_text()).items() if name in found}
        differing = [(name, path) for name, entry in kept.items() for path in differences(entry, found[name])]
        for name, path in differing[:40]:
            print(f"{name}: {path}")
        print(f"{len(kept)} plans compared, {len({name for name, _ in differing})} differ")
        raise SystemExit(bool(differing))


def figures(jobs: int) -> dict[str, Any]:
    """Memory and speed of every plan, as JSON has them."""
    advisor = load_advisor()
    gpus = list(advisor.knowledge.gpus.values())
    found: dict[str, Any] = {}
    for name, facts in workloads(jobs, seed=SEED).items():
        try:
            intake, model = advisor.context.resolve(advisor.read(facts).given)
        except InputError:
            continue
        job = job_from_facts(intake.facts, model, assumed=intake.assumed)
        speed = JobSpeed(job, demand_of(job, intake.facts))
        chance = random.Random(name)
        for number in range(PLANS_EACH if job.sized else 0):
            gpu, degrees = chance.choice(gpus), (chance.choice(DEGREES), chance.choice((1, 1, 1, 2, 3, 4)))
            layout = Layout(*degrees, chance.choice(DEGREES), chance.choice(SHARDINGS) if job.training else "none")
            max_batch = chance.choice((None, 0, 1, 5, 40, 300, 5000))
            fabric, count = fabric_of(gpu), layout.count
            links = fabric.link_of(count), fabric.node_link_of(count)
            memory = estimate_memory(job, gpu, layout)
            timed = speed.estimate(
                gpu, layout, *links, nodes=fabric.nodes(count), max_batch=None if job.training else max_batch
            )
            found[f"{name} {number} {gpu.id} {layout.label}"] = {
                "memory": memory and [memory.low_gb, memory.per_gpu_gb, memory.high_gb, memory.allocated_gb],
                "terms": memory and [[term.name, term.value, term.inputs] for term in memory.terms],
                "speed": timed and {key: [f.low, f.value, f.high, f.inputs] for key, f in timed.figures.items()},
            }
    return found


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two values differ by more than rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return [f"{path}: {sorted(one)} and {sorted(other)}"]
        return [found for key in one for found in differences(one[key], other[key], f"{path}.{key}")]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} entries"]
        return [
            found
            for place, pair in enumerate(zip(one, other, strict=True))
            for found in differences(*pair, f"{path}[{place}]")
        ]
    numbers = isinstance(one, float) and isinstance(other, float)
    same = one == other or (numbers and abs(one - other) <= TOLERANCE * max(abs(one), abs(other)))
    return [] if same else [f"{path}: {one} and {other}"]


if __name__ == "__main__":
    main()
