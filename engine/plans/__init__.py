"""Candidate plans: GPU x count x nodes x layout, each with memory, speed, cost and power."""

from whichgpu.engine.plans.candidates import candidate_plans
from whichgpu.engine.plans.candidates import gpus_to_plan
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.plans.model import Cost
from whichgpu.engine.plans.model import Layout
from whichgpu.engine.plans.model import Plan


__all__ = ["Cost", "Layout", "Plan", "PlanMaker", "candidate_plans", "gpus_to_plan"]
