"""What a plan costs to rent and to own, and which of the two is cheaper."""
