"""What ``sensitivity`` claims, decided again as a person types it: flips, how far they reach, and where none was found.

    python benchmarks/sensitivity_flips.py [--decisions 15] [--limit 400] [--seed 1]

The workloads are those of ``explain.py``. Of each, every flip is decided again at its first and its last value, and
every fact for which no flip was found at every value that is said to have been tried. A claim that does not hold is
printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any

from explain import MOMENT, workload

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core import InputError
from whichgpu.engine.explain.fact_changes import read_back, with_changes
from whichgpu.engine.explain.sensitivity_search import sensitivity
from whichgpu.engine.interview import answered
from whichgpu.engine.records.again import decide_again, recorded_facts


def verdict_with(decision: dict[str, Any], advisor: Advisor, fact: str, value: Any) -> Any:
    """The answer with one fact set; None where the workload is then refused or contradicts itself."""
    given = recorded_facts(decision, advisor)
    try:
        changed = with_changes(given, [f"{fact}={read_back(value)}"], advisor)
        objective = str(changed["objective"]) if fact == "objective" and "objective" in changed else None
        outcome = decide_again(decision, advisor, given=changed, objective=objective).outcome
    except InputError:
        return None
    contradictory = outcome.no_answer is not None and outcome.no_answer.kind == "contradictory"
    return None if contradictory else answered(outcome)


def main() -> int:
    """Run, print the figures, and say whether every claim held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("decisions", 15), ("limit", 400), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    advisor, chance = load_advisor(tests=False), random.Random(options.seed)
    counted: Counter[str] = Counter()
    started = time.process_time()
    for number in range(options.decisions):
        decision = advisor.decide(workload(chance), decided_at=MOMENT).to_dict()
        found = sensitivity(decision, advisor, limit=options.limit)
        claims = [
            (turn.change.fact, value, turn.verdict, "flips")
            for turn in found.turns
            for value in dict.fromkeys((turn.change.after, turn.until if turn.until is not None else turn.change.after))
        ]
        claims += [(entry.fact, value, found.verdict, "no flips") for entry in found.steady for value in entry.tried]
        counted["facts without a flip"] += len(found.steady)
        for fact, value, said, kind in claims:
            verdict = verdict_with(decision, advisor, fact, value)
            holds = verdict == said or (verdict is None and kind == "no flips")
            counted[kind] += 1
            counted["false"] += not holds
            if not holds:
                print(f"decision {number}: {fact} = {value}: {verdict} where {said} was claimed ({kind})")
    print(f"{options.decisions} decisions, at most {options.limit} re-decisions each: {dict(sorted(counted.items()))}")
    print(f"{time.process_time() - started:.0f} s of CPU time")
    return 1 if counted["false"] else 0


if __name__ == "__main__":
    sys.exit(main())
