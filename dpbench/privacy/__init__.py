"""The curator, its noise and its ledger."""
