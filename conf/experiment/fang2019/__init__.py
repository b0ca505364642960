"""Fang et al. 2019: every figure of their evaluation as a preset."""
