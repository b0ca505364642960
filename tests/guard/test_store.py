"""What a store keeps of built-in mechanisms is the same to the bit, whatever ran next to them."""

from __future__ import annotations

import shutil
from pathlib import Path

import dpbench

FAULTS = Path(__file__).with_name("faults")
SPOILERS = ("writes_rows", "unlocks_rows", "modifies_draws", "law_called_laplace", "alters_weights_later")
TABLE = {"dataset.n": 100, "dataset.d": 2, "splits.repeats": 2, "splits.folds": 2, "engine": "serial", "audit.level": "none"}
BUILT_IN = ["no_privacy", "fm"]


def test_a_store_that_was_filled_next_to_faults_shows_the_numbers_of_one_without_them(alone, tmp_path, monkeypatch) -> None:
    expected = dpbench.sweep(TABLE, record=False, mechanism=BUILT_IN, dataset="gaussian").full
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    for name in ("_planted", *SPOILERS):
        shutil.copy(FAULTS / f"{name}.py", plugins)
    forget_plugins()
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(plugins))
    first, last = BUILT_IN
    filled = dpbench.sweep(TABLE, mechanism=[first, *SPOILERS, last], dataset="gaussian").full
    assert set(filled[filled.mechanism.isin(SPOILERS)].state) == {"failed"}
    shown = dpbench.sweep(TABLE, mechanism=BUILT_IN, dataset="gaussian").full
    assert set(shown.state) == {"resumed"}
    names = [name for name in expected if name.startswith(("utility/", "reference/", "privacy/", "health/"))]
    for number, mechanism in enumerate(BUILT_IN):
        kept = shown[shown.mechanism == mechanism].iloc[0]
        assert {name: kept[name] for name in names if kept[name] != expected.iloc[number][name]} == {
            name: kept[name] for name in names if kept[name] != kept[name]
        }


def forget_plugins() -> None:
    from dpbench.registry.lookup import registry
    from dpbench.sweeps.hydra.config_groups import register

    registry.cache_clear()
    register.cache_clear()
