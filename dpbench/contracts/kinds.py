"""What plugins can offer: several kinds of components, metrics and papers, each with its hook and its contract."""

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of offer. Its name says which hook returns it, and which class in which module of this room is its contract."""

    name: str

    @property
    def hook(self) -> str:
        """The function of a plugin that returns the offers, as in ``dpbench_models``."""
        return f"dpbench_{self.name}s"

    def load(self) -> Any:
        """Import the contract and return its class: what an offer must be derived from, or be an instance of."""
        return getattr(importlib.import_module(f"dpbench.contracts.{self.name}"), self.name.capitalize())


KINDS = {name: Kind(name) for name in ("mechanism", "model", "dataset", "attack")}
"""The kinds of components: each is a group on the command line."""

OFFERS = {**KINDS, "metric": Kind("metric"), "paper": Kind("paper")}
"""Everything that a plugin can offer: component classes, and metrics and papers as objects."""
