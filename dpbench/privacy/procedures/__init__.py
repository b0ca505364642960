"""Private answers that are not noise on a sum, one module for each kind."""
