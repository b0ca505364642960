"""Figures, tables and pages, made from the records alone."""
