"""Ten layers that a company might lay over the shipped rules, all of them sound: what lint and the tests say of each.

``python benchmarks/layers.py`` loads each folder of ``benchmarks/layers``, checks and tests it, answers a workload,
and prints findings (there should be none), failed tests of its own, and the rules below that it makes moot.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path

from whichgpu import load_advisor
from whichgpu.engine.authoring import (
    UNDER_LAYERS,
    RuleTestFacts,
    check_coverage,
    inspect,
    layers_below,
    run_rule_tests,
)


LAYERS = Path(__file__).parent / "layers"
TODAY = date(2026, 11, 20)
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
WORKLOAD = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 8, "utilization_pct": 60}


def main() -> int:
    """Check and print; 1 where a sound layer is found fault with."""
    print("| layer | findings | its tests | moot rules below | answer | seconds of CPU |\n|---|---|---|---|---|---|")
    bad = 0
    for folder in sorted(path for path in LAYERS.iterdir() if path.is_dir()):
        began = time.process_time()
        advisor = load_advisor([folder])
        found = inspect(advisor, TODAY)
        findings = [f"{each.check}: {each.message}" for each in found if each.severity != "info"]
        moot = {each.rule for each in found if each.message.startswith(UNDER_LAYERS)}
        below = layers_below(advisor)
        results = run_rule_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for, advisor.vocabulary)
        failed = [each for each in results if not each.passed]
        own = [each for each in results if advisor.rules[each.rule].layer not in below]
        moot |= {each.rule for each in failed if advisor.rules[each.rule].layer in below}
        wrong = [f"{each.rule}: {each.why}" for each in own if not each.passed]
        faults = check_coverage(advisor) if (folder / "coverage.yaml").is_file() else []
        plan = advisor.decide(WORKLOAD, decided_at=MOMENT).to_dict()["recommendation"]
        answer = f"{plan['count']} x {plan['gpu']}" if plan else "none"
        bad += bool(findings or wrong or faults)
        print(
            f"| {folder.name} | {len(findings)} | {len(own) - len(wrong)} of {len(own)} | {len(moot)} | {answer} | "
            f"{time.process_time() - began:.1f} |",
            flush=True,
        )
        for said in (*findings, *wrong, *faults):
            print(f"  - {said}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
