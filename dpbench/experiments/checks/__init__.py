"""The checks that a claim can name, and what they share."""
