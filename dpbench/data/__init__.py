"""A table and its declared bounds, geometry, scaling, splits, bins, and sums over rows."""
