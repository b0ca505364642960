"""The HTML page of a sweep, and its tables."""
