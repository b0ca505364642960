"""The base classes and hooks that a plugin author reads: mechanism, model, dataset, attack, fit."""
