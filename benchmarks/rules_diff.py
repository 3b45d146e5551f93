"""Ten new rules of ten kinds: what ``rules diff`` says of the effect of each.

``python benchmarks/rules_diff.py [SAMPLE]`` lays each over the shipped rules by itself, compares, and prints whether it
fires, how many answers turn on it, and one of them; or that nothing exercised it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from whichgpu.engine.authoring import Comparison, Edition, Moved, compare


ROOT = Path(__file__).parent.parent
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
TAIL = "  because: We say so.\n  sources: [whichgpu-judgement]\n"

#: By kind of rule, the rule without its reason and sources, and its tests.
RULES = {
    "points for a card": (
        "- id: new-points\n  title: Batch work takes the L4\n  stage: prefer\n  each: plan\n"
        "  when: [serving_mode == batch, gpu.series == nvidia-l4]\n  then: {points: 4, reason: availability}\n",
        "    - {given: {task: inference, serving_mode: batch}, plan: {gpu: nvidia-l4, count: 1}, fires: true}\n"
        "    - near_miss: {serving_mode: realtime}\n",
    ),
    "points by a capability": (
        "- id: new-capability\n  title: Adapters keep off cards without bfloat16\n  stage: prefer\n  each: plan\n"
        "  when: [task == peft_finetuning, gpu.compute_capability < 8]\n  then: {points: -4, reason: maturity}\n",
        "    - {given: {task: peft_finetuning}, plan: {gpu: nvidia-t4, count: 1}, fires: true}\n"
        "    - near_miss: {gpu: nvidia-l4}\n",
    ),
    "a reject of plans": (
        "- id: new-reject\n  title: No consumer cards for serving here\n  stage: reject\n  each: plan\n"
        '  when: [serving, gpu.segment == consumer]\n  then: {reject: "{gpu.name} is for desks"}\n',
        "    - {given: {task: inference}, plan: {gpu: nvidia-rtx-4090, count: 1}, fires: true}\n"
        "    - near_miss: {gpu: nvidia-l4}\n",
    ),
    "a reject of a workload": (
        "- id: new-contradiction\n  title: No training from scratch beyond a trillion\n  stage: reject\n"
        "  when: [task == pretraining, param_count_b > 1000]\n  then: {reject: Nobody here trains so much.}\n",
        "    - {given: {task: pretraining, param_count_b: 1200}, fires: true}\n    - near_miss: {param_count_b: 900}\n",
    ),
    "a fallback": (
        "- id: new-fallback\n  title: Past generations come last\n  stage: prefer\n  each: plan\n"
        "  when: [training, gpu.generation_lag >= 2]\n  then: {fallback: it is two generations behind}\n",
        "    - {given: {task: full_finetuning}, plan: {gpu: nvidia-v100-32gb, count: 1}, fires: true}\n"
        "    - near_miss: {gpu: nvidia-h100-80gb-sxm}\n",
    ),
    "advice": (
        "- id: new-advice\n  title: Long runs are worth a spot quote\n  stage: advise\n"
        "  when: [training, run_hours > 200]\n  then: {advise: A-SPOT, text: Ask for a spot quote.}\n",
        "    - {given: {task: full_finetuning, run_hours: 300}, fires: true}\n    - near_miss: {run_hours: 100}\n",
    ),
    "a question": (
        "- id: new-question\n  title: Shared machines ask how jobs share\n  stage: advise\n"
        "  when: [serving, traffic_level == low, num_models_served is unknown]\n  then: {ask: num_models_served}\n",
        "    - {given: {task: inference, traffic_level: low}, fires: true}\n    - near_miss: {traffic_level: high}\n",
    ),
    "a derived fact": (
        "- id: new-fact\n  title: Prototypes are not for production traffic\n  stage: derive\n"
        "  when: [lifecycle_stage == prototype, serving]\n  then: {set: {traffic_level: low}}\n",
        "    - {given: {task: inference, lifecycle_stage: prototype}, fires: true}\n"
        "    - near_miss: {lifecycle_stage: production}\n",
    ),
    "counts that are planned too": (
        "- id: new-counts\n  title: Three cards are worth a thought\n  stage: derive\n"
        "  when: [task == peft_finetuning, param_count_b >= 30]\n  then: {consider_counts: [3]}\n",
        "    - {given: {task: peft_finetuning, param_count_b: 34}, fires: true}\n"
        "    - near_miss: {param_count_b: 13}\n",
    ),
    "a rule that nothing meets": (
        "- id: new-corner\n  title: A corner that no workload lies in\n  stage: prefer\n  each: plan\n"
        "  when: [task == pretraining, param_count_b > 20000, deadline_hours < 0.02, gpu.series == nvidia-t4]\n"
        "  then: {points: 1, reason: fit}\n",
        "    - {given: {task: pretraining, param_count_b: 30000, deadline_hours: 0.015}, "
        "plan: {gpu: nvidia-t4, count: 1}, fires: true}\n    - near_miss: {param_count_b: 900}\n",
    ),
}


def main(sample: int) -> int:
    """Compare each and print; 1 where the effect of one is neither shown nor denied."""
    below = Edition("builtin")
    silent = 0
    print("| new rule | fires | answered otherwise | said | seconds of CPU |\n|---|---|---|---|---|")
    for kind, (rule, tests) in RULES.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "rules.yaml").write_text(f"{rule}{TAIL}  tests:\n{tests}", encoding="utf-8")
            began = time.process_time()
            found = compare(
                below,
                Edition("new", (folder,)),
                moment=MOMENT,
                examples=(ROOT / "examples",),
                sample=sample,
                processes=1,
            )
            (row,) = found.rules
            silent += not row.exercised and not any(region.conditions for region in row.regions)
            took = time.process_time() - began
            print(
                f"| {kind} | {'yes' if row.exercised else 'no'} | {row.turned} | {_said(found)} | {took:.1f} |",
                flush=True,
            )
    return 1 if silent else 0


def _said(found: Comparison) -> str:
    (row,) = found.rules
    if not row.exercised:
        return "not exercised"
    first: Moved | None = next((entry for entry in found.moved if row.change.id in entry.rules), None)
    return "fires, and no answer turns on it" if first is None else f"{first.workload.name}: {', '.join(first.parts)}"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
