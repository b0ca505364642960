"""Attacks that ship with dpbench."""
