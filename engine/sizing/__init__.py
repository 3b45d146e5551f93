"""Sizing: what a job takes in memory on each GPU, and how fast it runs.

``engine.sizing.calculators`` registers the workload-scope figures when it is imported.
"""

from engine.sizing.intake import job_from_facts
from engine.sizing.job import Assumed
from engine.sizing.job import Job
from engine.sizing.layout import Layout
from engine.sizing.memory import estimate_memory
from engine.sizing.memory import max_micro_batch
from engine.sizing.model import Figure
from engine.sizing.model import MemoryEstimate
from engine.sizing.model import SpeedEstimate
from engine.sizing.model import Term


__all__ = [
    "Assumed",
    "Figure",
    "Job",
    "Layout",
    "MemoryEstimate",
    "SpeedEstimate",
    "Term",
    "estimate_memory",
    "job_from_facts",
    "max_micro_batch",
]
