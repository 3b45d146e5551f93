"""Candidate plans: GPU x count x nodes x layout, each with memory, speed, cost and power."""

from engine.plans.candidates import candidate_plans
from engine.plans.candidates import gpus_to_plan
from engine.plans.maker import PlanMaker
from engine.plans.model import Cost
from engine.plans.model import Layout
from engine.plans.model import Plan


__all__ = ["Cost", "Layout", "Plan", "PlanMaker", "candidate_plans", "gpus_to_plan"]
