"""Fit once with secure noise, and read and write the file of a released model."""
