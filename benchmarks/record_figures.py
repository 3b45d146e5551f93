"""Random figures of records, evaluated again: whether each has a formula, and what it ends in.

    python benchmarks/record_figures.py [--records 20] [--figures 100] [--seed 1]

The workloads are those of ``explain.py``. Of the computed numbers in their traces some are drawn. A formula that gives
another number, or reads what is no input of the plan, no figure of the trace and no constant with a source,
is printed, and the exit code is 1. Figures that end in a sentence are counted, and so is what the planner found by
trying: how few GPUs do, how they are split.
"""

from __future__ import annotations

import argparse
import gzip
import random
import statistics
import sys
import time
from collections import Counter

from explain import MOMENT, workload

from whichgpu import load_advisor
from whichgpu.engine.core import json_value
from whichgpu.engine.records.arithmetic import _computed, check_arithmetic
from whichgpu.engine.records.statement import Asked, make_statement, record_text


def main() -> int:
    """Run, print the figures, and say whether all of them evaluate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("records", 20), ("figures", 100), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    advisor, chance, started = load_advisor(tests=False), random.Random(options.seed), time.process_time()
    drawn: Counter[str] = Counter()
    words: Counter[str] = Counter()
    faults, sizes, derived, stated, searched = [], [], 0, 0, 0
    for number in range(options.records):
        decision = advisor.decide(workload(chance), decided_at=MOMENT)
        answer = json_value(decision.to_dict())
        statement = make_statement(decision, answer, Asked())
        found = check_arithmetic(answer, statement["arithmetic"], statement["plans"])
        faults += [f"record {number}: {fault}" for fault in found.faults]
        faults += [
            f"record {number}: {entry['name']} has no source"
            for entry in statement["arithmetic"]["formulas"]["constants"]
            if not entry["source"]
        ]
        derived, stated = derived + found.derived, stated + found.in_words
        searched += found.searched
        figures = [name for _, name in _computed(answer)]
        for name in chance.sample(figures, min(len(figures), options.figures // options.records)):
            drawn["ends in a statement" if name in found.words else "evaluates"] += 1
            words[name] += name in found.words
        sizes.append(len(gzip.compress(record_text(statement, None).encode(), 9)))
    print(f"{options.records} records: {derived} figures evaluated, {stated} end in a statement, {len(faults)} faults")
    print(f"{searched} counts and splits were found by trying")
    print(f"{sum(drawn.values())} drawn: {dict(drawn)}; {dict(+words)}")
    print(f"packed: median {statistics.median(sizes) / 1e3:.0f} KB, most {max(sizes) / 1e3:.0f} KB")
    for fault in faults:
        print(f"  {fault}")
    print(f"{time.process_time() - started:.0f} s of CPU time")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
