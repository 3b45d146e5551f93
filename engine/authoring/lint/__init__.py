"""Checks over a rulebook: what can never fire, contradicts, repeats or is not sourced."""
