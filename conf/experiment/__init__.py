"""Hydra's choices for `experiment`."""
