"""A leaderboard of mechanisms over many tables: scores from records, ranks, and the pages made of them."""
