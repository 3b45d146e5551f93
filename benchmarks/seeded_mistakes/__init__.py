"""Mistakes of an expert, seeded one at a time in rules and knowledge: which share loading, lint and the tests find."""
