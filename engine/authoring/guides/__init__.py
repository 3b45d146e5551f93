"""What the guides say, and where the rulebook and the knowledge carry it."""
