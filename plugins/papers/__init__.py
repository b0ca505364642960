"""Papers that ship with dpbench: their figures as presets, and what they claim about their results."""
