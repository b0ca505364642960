"""From a configuration to components."""

from collections.abc import Mapping
from typing import Any

from dpbench.registry.lookup import registry


def build(kind: str, config: Mapping[str, Any]) -> Any:
    """Return the component that a section of the configuration names, with its options."""
    options = {key: value for key, value in config.items() if key != "name"}
    return registry().get(kind, config["name"]).build(options)
