"""The report: a decision as one self-contained HTML page."""
