"""Candidate plans: GPU x count x nodes x layout, each with memory, speed, cost and power.

In go a job, the facts of its workload and the catalogue, out comes a ``PlanTable``: a row for each plan, made into a
whole ``Plan`` where one is asked for. ``candidates.candidate_plans`` is the search, ``costs`` the money. Knows no rule.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
