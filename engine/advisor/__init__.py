"""The pipeline of a decision: resolve facts, plan, reject, survey, prefer, choose, advise."""
