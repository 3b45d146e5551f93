"""The shortest way to a decision: the shipped rulebook, and the clock of this machine unless one is passed in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from datetime import datetime

from engine.advisor.advisor import Decision
from engine.advisor.advisor import shipped_expertise


def decide(
    workload: Mapping[str, object], *, objective: str | None = None, decided_at: datetime | None = None
) -> Decision:
    """Decide a workload with the shipped rulebook and knowledge.

    Args:
        workload: facts by name, as ``whichgpu facts`` lists them; values may be text with units ("24 GB", "70b").
        objective: cheapest, fastest or balanced.
        decided_at: the time to put on the decision; now, if left out.

    Raises:
        InputError: a fact is unknown or a value is wrong; ``problems`` says which, and what was probably meant.
    """
    moment = decided_at or datetime.now(UTC).replace(microsecond=0)
    return shipped_expertise().decide(workload, objective=objective, decided_at=moment)
