"""Models that ship with dpbench."""
