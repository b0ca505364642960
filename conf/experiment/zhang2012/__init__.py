"""Zhang et al. 2012: every figure of their evaluation as a preset."""
