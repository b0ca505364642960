"""What papers assert about their own results, held against recorded sweeps."""
