"""What the differences between cells are worth: paired tests, and ranks over datasets."""
