"""The metrics of predictions that ship with dpbench."""
