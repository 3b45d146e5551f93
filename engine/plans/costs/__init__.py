"""What a plan costs to rent (from offers) and to own, and which of the two is cheaper over the horizon."""
