"""Hydra's choices for `engine`."""
