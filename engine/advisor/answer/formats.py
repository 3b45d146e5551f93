"""Names of the output contract."""

from __future__ import annotations

from typing import Final


DECISION_FORMAT: Final = "whichgpu.decision/1"
RECORD_FORMAT: Final = "whichgpu.record/1"

#: What ``--jsonl`` leaves out of each line unless ``--full`` is given.
BULKY_KEYS = ("trace", "rules", "rejected", "outranked")
