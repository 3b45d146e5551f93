"""Candidate plans: GPU x count x nodes x layout, each with memory, speed, cost and power."""
