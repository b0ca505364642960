"""Discover plugins, check their classes, and look components up by name."""
