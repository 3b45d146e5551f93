"""The shortest way to an answer: the shipped rulebook, and the clock of this machine unless one is passed in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.size_answer import size_workload


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer.answer_types import SizeAnswer


def decide(
    workload: Mapping[str, object], *, objective: str | None = None, decided_at: datetime | None = None
) -> Decision:
    """Decide a workload with the shipped rulebook and knowledge.

    Args:
        workload: facts by name, as ``whichgpu facts`` lists them; values may be text with units ("24 GB", "70b").
        objective: cheapest, fastest or balanced; without one, what the guides name for the case comes first.
        decided_at: the time to put on the decision; now, if left out.

    Raises:
        InputError: a fact is unknown or a value is wrong; ``problems`` says which, and what was probably meant.
    """
    moment = decided_at or datetime.now(UTC).replace(microsecond=0)
    return shipped_advisor().decide(workload, objective=objective, decided_at=moment)


def size(workload: Mapping[str, object], *, gpu: str | None = None, count: int | None = None) -> SizeAnswer:
    """Memory (GB), fit and speed of a workload on GPUs that are named, with the shipped knowledge.

    Args:
        workload: facts by name; ``gpu`` and ``count`` may be among them.
        gpu: any name of one accelerator.
        count: how many; 1, if neither this nor the workload says.

    Raises:
        InputError: a fact or the accelerator is unknown, or the size of the model is.
    """
    advisor = shipped_advisor()
    return size_workload(advisor, advisor.read(workload), gpu=gpu, count=count)
