"""Hydra's choices for `tracking`."""
