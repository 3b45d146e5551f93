"""Sizing: what a job takes in memory on each GPU, and how fast it runs.

``whichgpu.engine.sizing.calculators`` registers the workload-scope figures when it is imported.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
