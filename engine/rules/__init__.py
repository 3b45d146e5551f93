"""Facts, the rule language, rulebooks and their inference. Knows no hardware."""
