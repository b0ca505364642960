"""Presets (what a figure runs and how it is drawn) and claims (what a paper asserts, judged on records)."""
