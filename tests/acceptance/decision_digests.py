"""Prints the digest of the decision on every example and on some public cases. Run as a script by the tests."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import yaml

from whichgpu.engine.advisor.advisor import load_advisor
from whichgpu.engine.records.first_form import decision_digest


TESTS = Path(__file__).parents[1]


def main() -> None:
    """One line a workload: its name and the digest of its decision."""
    advisor = load_advisor()
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    cases = yaml.load((TESTS.parent / "rules/guides/cases.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    workloads = {
        path.stem: yaml.safe_load(path.read_text()) for path in sorted((TESTS.parent / "examples").glob("*.yaml"))
    }
    workloads |= {case["id"]: case["given"] for case in cases[::40]}
    for name, workload in workloads.items():
        decision = advisor.decide(workload, decided_at=moment).to_dict()
        print(name, decision_digest(decision))
    print(advisor.fired_by, file=sys.stderr)


if __name__ == "__main__":
    main()
