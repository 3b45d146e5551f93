"""The interview on a line-oriented screen: what is said, what is understood, what is kept."""
