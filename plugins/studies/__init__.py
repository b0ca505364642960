"""Studies: presets and results that belong to no paper."""
