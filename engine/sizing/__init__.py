"""Sizing: what a job takes in memory on each GPU, and how fast it runs.

In go a ``Job`` (from ``intake.job_from_facts``), GPUs and layouts as columns, out come memory in GB and speeds with
bands, a row for each plan. ``memory`` and ``speed`` choose the formula. Knows no rule.

``whichgpu.engine.sizing.calculators_required`` registers the workload-scope figures when it is imported.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
