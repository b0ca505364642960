"""Writes a new plugin that works at once, for its author to change."""
