"""Everything that touches Hydra: its application, config groups, and sweeper."""
