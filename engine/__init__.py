"""The expert system without a face: no printing, no prompting."""
