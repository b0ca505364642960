"""What plugins can offer: components of several kinds, and papers; with the hook of each, and the contract it keeps."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A kind of offer: the hook that collects it and the contract it keeps."""

    hook: str
    home: str
    contract: str

    def load(self) -> type[Any]:
        """The contract's class, imported now."""
        contract = getattr(importlib.import_module(self.home), self.contract)
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
