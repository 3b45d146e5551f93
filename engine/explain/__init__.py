"""Explaining a decision: why, why not, what if, what would flip it, and whether it holds."""
