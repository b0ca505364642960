"""The version of dpbench and of its contracts: the one place that states them."""

__version__ = "0.1.0"
API_VERSION = 1
"""The version of the contracts of plugins. It rises when a plugin that kept them would have to be changed."""
