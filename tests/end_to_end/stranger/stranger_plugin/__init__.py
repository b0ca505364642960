"""Plugins for dpbench that are not part of it."""
