"""What the papers assert about their own results, one file a paper: see docs/claims.md."""
