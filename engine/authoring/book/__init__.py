"""What depends on what in a rulebook: who sets a fact, who reads it, and which rules feed which."""
