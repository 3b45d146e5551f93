"""All that decides and explains, from facts and rules to plans and records. Prints and asks nothing; ``cli`` does."""
