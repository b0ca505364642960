"""YAML is read as PyYAML's safe loader reads it, whichever loader does it."""

from __future__ import annotations

import pytest
import yaml

from dpbench.base.yaml_text import parse_yaml

TEXT = "numbers: [1, 2.5, 1e-3]\ntext: 'ε'\nnothing: null\nyes_or_no: true\n"


def test_both_loaders_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = parse_yaml(TEXT)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert fast == parse_yaml(TEXT) == yaml.safe_load(TEXT)


def test_a_text_cannot_make_objects_of_any_class() -> None:
    with pytest.raises(yaml.YAMLError):
        parse_yaml("!!python/object/apply:os.getcwd []")
