"""The curator with its queries, noise and ledger, the replay tape, and secure noise."""
