"""whichgpu: which GPU, how many, linked how, rented or bought, with the reasons.

    >>> import whichgpu
    >>> decision = whichgpu.decide({"task": "inference", "model_name": "llama-3.1-8b"})
    >>> decision.to_dict()["recommendation"]["count"]
    1

Nothing here prints or asks. What is named below is loaded on first use, so that importing costs nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any


# In a checkout the packages lie beside this folder, not in it: they are found there as whichgpu.engine and
# whichgpu.cli, so that no program that uses whichgpu takes the names engine and cli for itself (docs/decisions/0011).
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would cost a start of the command.
if not os.path.isdir(os.path.join(_HERE, "engine")):  # noqa: PTH112, PTH118
    __path__.append(os.path.dirname(_HERE))  # noqa: PTH120


if TYPE_CHECKING:
    from whichgpu.engine.advisor import Advisor, Decision, Workload, decide, load_advisor, size
    from whichgpu.engine.core import (
        VERSION as __version__,  # noqa: N811
        InputError,
        InternalError,
        KnowledgeError,
        Problem,
        RulebookError,
        WhichgpuError,
    )


_PLACES = {
    "Decision": "advisor.decision",
    "Advisor": "advisor.advisor",
    "InputError": "core.errors",
    "InternalError": "core.errors",
    "KnowledgeError": "core.errors",
    "Problem": "core.errors",
    "RulebookError": "core.errors",
    "WhichgpuError": "core.errors",
    "Workload": "advisor.intake",
    "decide": "advisor.api",
    "load_advisor": "advisor.advisor",
    "size": "advisor.api",
}

__all__ = [
    "Advisor",
    "Decision",
    "InputError",
    "InternalError",
    "KnowledgeError",
    "Problem",
    "RulebookError",
    "WhichgpuError",
    "Workload",
    "__version__",
    "decide",
    "load_advisor",
    "size",
]


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    from importlib import import_module  # noqa: PLC0415  (importing whichgpu must stay free of cost)

    if name == "__version__":
        value = import_module("whichgpu.engine.core.version").VERSION
    elif name in _PLACES:
        value = getattr(import_module(f"whichgpu.engine.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"module 'whichgpu' has no attribute {name!r}")
    globals()[name] = value
    return value
