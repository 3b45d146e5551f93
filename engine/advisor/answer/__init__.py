"""Outcomes put into the words and keys of the output contract."""
