"""The placeholder that attacks nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpbench.registry.lookup import registry


def test_it_is_the_only_attack_that_attacks_nothing() -> None:
    passive = [name for name in registry().names("attack") if registry().get("attack", name).attacks_nothing]
    assert passive == ["none"]


def test_it_runs_on_every_model_and_has_no_metrics(make: Callable[..., Any], geometry: Callable[..., Any]) -> None:
    attack = make("attack", "none")
    for name in registry().names("model"):
        assert attack.unsupported(make("model", name), geometry(2)) is None
    assert attack.run(None) == {}
