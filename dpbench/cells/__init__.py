"""One cell (a point of the grid) and the work unit that runs several: loading tables, fitting, metrics."""
