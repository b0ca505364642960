"""What private answers cost: composition, conversion to (ε, δ), calibration, and the price of selection."""
