"""The figures of a sweep, drawn from its records alone."""
