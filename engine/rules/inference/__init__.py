"""Firing rules: durable-rules below, the reference evaluator beside it."""
