"""Firing rules: the generated evaluator answers, durable-rules confirms."""
