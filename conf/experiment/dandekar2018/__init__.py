"""Dandekar, Basu and Bressan 2018: every figure of their evaluation as a preset."""
