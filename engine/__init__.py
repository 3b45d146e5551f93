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
    from engine.advisor.advisor import Decision
    from engine.advisor.advisor import Expertise
    from engine.advisor.advisor import load_expertise
    from engine.advisor.api import decide
    from engine.advisor.intake import Workload
    from engine.core.errors import InputError
    from engine.core.errors import InternalError
    from engine.core.errors import KnowledgeError
    from engine.core.errors import Problem
    from engine.core.errors import RulebookError
    from engine.core.errors import WhichgpuError


_DOORS = {
    "Decision": "engine.advisor.advisor",
    "Expertise": "engine.advisor.advisor",
    "InputError": "engine.core.errors",
    "InternalError": "engine.core.errors",
    "KnowledgeError": "engine.core.errors",
    "Problem": "engine.core.errors",
    "RulebookError": "engine.core.errors",
    "WhichgpuError": "engine.core.errors",
    "Workload": "engine.advisor.intake",
    "decide": "engine.advisor.api",
    "load_expertise": "engine.advisor.advisor",
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
