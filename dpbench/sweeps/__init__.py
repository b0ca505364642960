"""From a request to finished records: expand the grid, plan it, run it on an engine."""
