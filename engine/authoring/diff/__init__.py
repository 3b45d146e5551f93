"""Two rulebooks side by side: which rules differ, and which workloads get another answer."""
