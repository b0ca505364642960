"""What mechanisms share after the noise: minimise noisy objectives, fit noisy histograms."""
