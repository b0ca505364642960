"""The figures of a sweep, drawn from its rows alone."""
