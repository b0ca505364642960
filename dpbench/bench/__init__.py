"""Cells, work units, metrics and records."""
