"""The pipeline of a decision: resolve facts, plan, reject, survey, prefer, choose, advise.

In goes a workload (facts by name), out comes a ``Decision`` with the recommendation, its alternatives and its trace.
``pipeline.decide_workload`` has the order of the steps; ``advisor.load_advisor`` loads what they need.
"""

from lazy_loader import attach_stub


__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
