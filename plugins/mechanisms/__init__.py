"""Mechanisms that ship with dpbench."""
