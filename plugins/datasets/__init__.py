"""Datasets that ship with dpbench."""
