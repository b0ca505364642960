"""Deliberately wrong plugins of every kind: each gets the right sentence from `check`, and disturbs no sweep of others.

The files are in wrong_plugins/; the docstring of each says what is wrong, and how the sentence about it begins.
"""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpbench
from dpbench.__main__ import main
from dpbench.base.environment import PLUGIN_SECONDS, UNRESPONSIVE_PLUGINS
from dpbench.contracts.hooks import OFFERS
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

FOLDER = Path(__file__).with_name("wrong_plugins")
WRONG = sorted(file.stem for file in FOLDER.glob("*.py") if not file.name.startswith("_"))
CELLS = {"mechanism": ["fm", "no_privacy"], "dataset": "gaussian", "dataset.n": 200, "dataset.d": 2, "splits.repeats": 2}
NUMBERS = ("utility/rmse_median", "utility/r2_median", "reference/no_privacy/rmse_median", "privacy/epsilon")


def expected(name: str) -> str:
    """The sentence that a wrong plugin's docstring announces."""
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return text.partition(" Expected: ")[2]


@pytest.fixture
def put(fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts wrong plugins into the drop-in folder."""
    monkeypatch.setenv(PLUGIN_SECONDS, "0.5")
    monkeypatch.setenv(UNRESPONSIVE_PLUGINS, "")
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path))

    def copy(*names: str) -> None:
        for name in ("_good", *names):
            shutil.copy(FOLDER / f"{name}.py", tmp_path)
        registry.cache_clear()
        register.cache_clear()

    return copy


@pytest.mark.parametrize("name", WRONG)
def test_it_gets_the_right_sentence(name: str, put: Any, capsys: pytest.CaptureFixture[str]) -> None:
    put(name)
    assert main(["check", f"{name}.py", "--json"]) == 1
    failures = [each for found in json.loads(capsys.readouterr().out) for each in found["found"] if each["state"] == "failed"]
    failure, *_ = [each for each in failures if expected(name) in each["text"]]
    assert expected(name)
    assert failure["advice"].endswith(".")


def test_there_is_one_for_every_kind() -> None:
    lines = {line for name in WRONG for line in (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()}
    assert lines >= {f"def dpbench_{kind}s():" for kind in OFFERS}


def test_all_of_them_together_change_no_number_of_a_sweep(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = numbers(CELLS)
    put(*WRONG)
    assert numbers(CELLS) == before
    wrong = ["nan_weights", "wrong_shape", "wrong_signature", "global_seed", "quotes_rows", "exits"]
    after = numbers({**CELLS, "mechanism": [CELLS["mechanism"][1], *wrong, CELLS["mechanism"][0]]})
    assert {name: values for name, values in after.items() if name in before} == before


def numbers(keys: dict[str, Any]) -> dict[str, list[Any]]:
    """The numbers of each mechanism's cell in a sweep that records nothing."""
    frame = dpbench.sweep({"engine": "serial", "epsilon": 1.0, **keys}, record=False).full
    assert set(NUMBERS) & set(frame.columns)
    return {row["mechanism"]: [repr(row[name]) for name in NUMBERS if name in frame.columns] for row in frame.to_dict("records")}
