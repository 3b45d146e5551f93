"""The tests and scenarios beside rules, what they cover, and whether they would notice a changed rule."""
