"""Read CSV and Parquet files and DataFrames, parse their values, and check the user's bounds file."""
