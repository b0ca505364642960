"""The queries: sums over rows that a mechanism asks the Curator for, and what becomes of their answers."""
