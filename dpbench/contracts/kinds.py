"""What plugins can offer: several kinds of components, metrics and papers, each with its hook and its contract."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of offer: the hook that returns it, and the class that it must be derived from or be an instance of."""

    hook: str
    module: str
    contract: str

    def load(self) -> type[Any]:
        """Import the contract and return its class."""
        contract = getattr(importlib.import_module(self.module), self.contract)
        assert isinstance(contract, type)
        return contract


KINDS = {
    "mechanism": Kind("dpbench_mechanisms", "dpbench.contracts.mechanism", "Mechanism"),
    "model": Kind("dpbench_models", "dpbench.contracts.model", "Model"),
    "dataset": Kind("dpbench_datasets", "dpbench.contracts.dataset", "Dataset"),
    "attack": Kind("dpbench_attacks", "dpbench.contracts.attack", "Attack"),
}
"""The kinds of components: each is a group on the command line."""

OFFERS = {
    **KINDS,
    "metric": Kind("dpbench_metrics", "dpbench.contracts.metric", "Metric"),
    "paper": Kind("dpbench_papers", "dpbench.contracts.paper", "Paper"),
}
"""Everything that a plugin can offer: component classes, and metrics and papers as objects."""
