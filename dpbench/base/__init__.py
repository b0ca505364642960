"""Errors, options and random streams: what every other room may use."""
