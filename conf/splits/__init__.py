"""Hydra's choices for `splits`."""
