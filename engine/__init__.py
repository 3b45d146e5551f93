"""whichgpu: which GPU, how many, linked how, rented or bought, with the reasons.

    >>> from engine import decide
    >>> decision = decide({"task": "inference", "model_name": "llama-3.1-8b"})
    >>> decision.to_dict()["recommendation"]["count"]
    1

The engine prints nothing and asks nothing. Its doors are loaded on first use, so that importing it costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from engine.expertise import Decision
    from engine.expertise import Expertise
    from engine.expertise import load_expertise
    from engine.intake import Workload
    from engine.offhand import decide
    from engine.problems import InputError
    from engine.problems import InternalError
    from engine.problems import KnowledgeError
    from engine.problems import Problem
    from engine.problems import RulebookError
    from engine.problems import WhichgpuError


_DOORS = {
    "Decision": "engine.expertise",
    "Expertise": "engine.expertise",
    "InputError": "engine.problems",
    "InternalError": "engine.problems",
    "KnowledgeError": "engine.problems",
    "Problem": "engine.problems",
    "RulebookError": "engine.problems",
    "WhichgpuError": "engine.problems",
    "Workload": "engine.intake",
    "decide": "engine.offhand",
    "load_expertise": "engine.expertise",
}

__all__ = [
    "Decision",
    "Expertise",
    "InputError",
    "InternalError",
    "KnowledgeError",
    "Problem",
    "RulebookError",
    "WhichgpuError",
    "Workload",
    "decide",
    "load_expertise",
]


def __getattr__(name: str) -> Any:
    """Load a door on first use."""
    if name not in _DOORS:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (importing engine must stay free of cost)

    value = getattr(import_module(_DOORS[name]), name)
    globals()[name] = value
    return value
