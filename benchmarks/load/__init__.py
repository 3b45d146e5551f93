"""Speed under load: measured sweeps, and a simulated scheduler to hold closed formulas against."""
