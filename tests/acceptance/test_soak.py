"""Three hundred decisions in one process leave nothing behind: neither Python objects nor memory of the C engine."""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
STATUS = Path("/proc/self/statm")
DECISIONS = 100
ROUNDS = 3


def resident_mb() -> float:
    """Memory of this process that is in use, in MB."""
    pages = int(STATUS.read_text().split()[1])
    return pages * 4096 / 1e6


@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from /proc")
def test_three_hundred_decisions_leave_nothing_behind(advisor: Advisor, cases: list[dict[str, Any]]) -> None:
    workloads = [advisor.read(case["workload"]) for case in cases[::6]]

    def run(number: int) -> None:
        for workload in islice(cycle(workloads), number):
            decision = advisor.decide(workload, decided_at=MOMENT)
        decision.to_dict()
        gc.collect()

    # Whole rounds: what is kept of the last few jobs is then of the same jobs both times.
    rounds = -(-DECISIONS // len(workloads))
    run(2 * len(workloads))  # Caches fill, and the allocator takes what it will need.
    objects = len(gc.get_objects())
    growths_mb = []
    for _ in range(ROUNDS):
        memory_mb = resident_mb()
        run(rounds * len(workloads))
        growths_mb.append(resident_mb() - memory_mb)
    assert len(gc.get_objects()) - objects < DECISIONS  # Less than one object for three decisions.
    # A leak grows every time; an allocator whose heap other tests of this process have filled with holes grows once.
    assert min(growths_mb) < 4
