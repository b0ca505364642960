"""Hydra's configuration files."""
