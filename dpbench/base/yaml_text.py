"""Read YAML with the C loader, which is in every wheel of PyYAML and ten times as fast as the other."""

from typing import Any


def parse_yaml(text: str) -> Any:
    """Return what a text of plain YAML says."""
    import yaml

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
