"""What the command stands on: facts, rules, catalogue, sizing, plans, choice, explanation. Prints and asks nothing."""
