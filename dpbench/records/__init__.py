"""The data that crosses from workers to the store and the report: cell records, sweep records, and their names."""
