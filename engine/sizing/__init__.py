"""Sizing: what a job takes in memory on each GPU, and how fast it runs.

``whichgpu.engine.sizing.calculators`` registers the workload-scope figures when it is imported.
"""

from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Assumed
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.memory import estimate_memory
from whichgpu.engine.sizing.model import Figure
from whichgpu.engine.sizing.model import MemoryEstimate
from whichgpu.engine.sizing.model import SpeedEstimate
from whichgpu.engine.sizing.model import Term


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
]
