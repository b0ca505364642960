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
from dpbench.base.errors import Refused
from dpbench.contracts.hooks import KINDS, OFFERS
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

FOLDER = Path(__file__).with_name("wrong_plugins")
WRONG = sorted(file.stem for file in FOLDER.glob("*.py") if not file.name.startswith("_"))
CELLS = {
    "mechanism": ["fm", "no_privacy"],
    "model": "linear",
    "dataset": ["gaussian", "wine"],
    "dataset.sample_n": 150,
    "attack": "membership",
    "splits.repeats": 2,
}
UNLOADABLE = ("dataset_nan", "dataset_quotes_rows", "dataset_wrong_shape", "dataset_wrong_signature")
"""Datasets without a table: a sweep that names one is refused as a whole."""
NUMBERS = (
    *("utility/rmse_median", "utility/r2_median", "reference/no_privacy/rmse_median", "privacy/epsilon"),
    "attack/balanced_accuracy_median",
)


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


@pytest.mark.parametrize("kind", ["model", "dataset", "attack", "metric"])
@pytest.mark.parametrize("fault", ["wrong_signature", "wrong_shape", "global_seed", "quotes_rows"])
def test_what_any_component_with_rows_can_do_is_tried_with_each_kind(kind: str, fault: str) -> None:
    assert {f"{kind}_{fault}", fault} <= {*WRONG}


def test_there_is_one_for_every_kind() -> None:
    lines = {line for name in WRONG for line in (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()}
    assert lines >= {f"def dpbench_{kind}s():" for kind in OFFERS}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("name_clash", "is offered more than once"), ("newer_api", "was written for version 99 of dpbench's contracts")],
)
def test_what_is_wrong_with_any_kind_is_said_of_each(
    name: str, sentence: str, put: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    put(name)
    assert main(["check", f"{name}.py", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    hooks = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")).body
    assert len(findings) == sum(isinstance(node, ast.FunctionDef) for node in hooks) >= len(KINDS)
    assert all(sentence in found["found"][0]["text"] for found in findings)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_ones_of_a_kind_change_no_number_of_a_sweep_that_runs_them_first(kind: str, put: Any) -> None:
    """All other wrong plugins are installed, too: metrics and broken modules take part in every sweep."""
    before = numbers(CELLS)
    known = registry().names(kind)
    put(*WRONG)
    wrong = sorted({*registry().names(kind)} - {*known} - {*UNLOADABLE})
    assert wrong
    good = CELLS[kind] if isinstance(CELLS[kind], list) else [CELLS[kind]]
    after = numbers({**CELLS, kind: [good[0], *wrong, *good[1:]]})
    assert {key: values for key, values in after.items() if key in before} == before


@pytest.mark.parametrize("name", UNLOADABLE)
def test_a_dataset_that_cannot_be_loaded_is_named_before_anything_runs(name: str, put: Any) -> None:
    put(name)
    with pytest.raises(Refused, match=f"^The dataset {name} cannot be loaded: "):
        numbers({**CELLS, "dataset": ["gaussian", name]})


def numbers(keys: dict[str, Any]) -> dict[tuple[str, ...], list[str]]:
    """The numbers of each cell in a sweep that records nothing, by the names of its components."""
    frame = dpbench.sweep({"engine": "serial", "epsilon": 1.0, **keys}, record=False).full
    cells = [cell for cell in frame.to_dict("records") if cell["state"] == "run"]
    assert cells
    return {tuple(cell[kind] for kind in KINDS): [repr(cell.get(name)) for name in NUMBERS] for cell in cells}
