"""How sure the checks are and how long they take: 300 sound rulebooks, 300 with a planted defect, and the shipped one.

    python benchmarks/lint.py [COUNT]

Sound means that brute force over a small domain finds nothing wrong; the same judge confirms each planted defect.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import ModuleType


ROOT = Path(__file__).parent.parent


def _sample() -> ModuleType:
    """The test module that holds the makers of rulebooks, the judge, and what counts as certain."""
    file = ROOT / "tests" / "engine" / "verify" / "test_random_rulebooks.py"
    spec = importlib.util.spec_from_file_location("random_rulebook_sample", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(count: int) -> int:
    """Print what was found and return the exit code."""
    sample = _sample()
    false_alarms, missed, unconfirmed = [], [], []
    kinds: Counter[str] = Counter()
    rules = 0
    spent = 0.0
    for seed in range(count):
        rulebook, _ = sample.made.sound_rulebook(seed)
        began = time.perf_counter()
        findings = sample.certain_findings(rulebook)
        spent += time.perf_counter() - began
        rules += len(rulebook.rules)
        false_alarms += [(seed, finding.check, finding.message) for finding in findings]
    for seed in range(count):
        rulebook, planted, judge = sample.made.flawed_rulebook(seed)
        began = time.perf_counter()
        found = {(finding.check, finding.rule) for finding in sample.certain_findings(rulebook)}
        spent += time.perf_counter() - began
        rules += len(rulebook.rules)
        kinds[planted[0]] += 1
        if planted not in found:
            missed.append((seed, *planted))
        unconfirmed += [(seed, *other) for other in sorted(found - judge.defects())]
    print(f"{count} sound rulebooks: {len(false_alarms)} certain findings")
    print(f"{count} with a defect: {count - len(missed)} found, {len(unconfirmed)} findings that the judge denies")
    print("planted: " + ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())))
    print(f"{rules} rules checked in {spent:.1f} s")
    for entry in (*false_alarms, *missed, *unconfirmed):
        print(f"  {entry}")
    _shipped()
    return 1 if false_alarms or missed or unconfirmed else 0


def _shipped() -> None:
    from whichgpu.engine.advisor.advisor import load_advisor  # noqa: PLC0415  (its loading is timed below)
    from whichgpu.engine.authoring import run_rule_tests  # noqa: PLC0415
    from whichgpu.engine.authoring.inspection import inspect  # noqa: PLC0415
    from whichgpu.engine.authoring.testing.rule_test_facts import RuleTestFacts  # noqa: PLC0415

    marks = [time.perf_counter()]
    advisor = load_advisor()
    marks.append(time.perf_counter())
    findings = inspect(advisor, date(2026, 6, 30))
    marks.append(time.perf_counter())
    results = run_rule_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for, advisor.vocabulary)
    marks.append(time.perf_counter())
    load, lint, test = (after - before for before, after in pairwise(marks))
    severities = Counter(finding.severity for finding in findings)
    print(
        f"shipped rulebook: {len(advisor.rulebook.rules)} rules loaded in {load:.2f} s, checked in {lint:.2f} s "
        f"({dict(severities)}), {len(results)} tests in {test:.2f} s "
        f"({sum(not result.passed for result in results)} fail)"
    )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
