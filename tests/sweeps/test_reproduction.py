"""A recorded cell that runs again gives the same bits, or says which numbers drifted and which versions differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.cells.unit_runner import last_runner
from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.sweeps.reproduction import Reproduction, reproduce
from dpbench.tracking.cell_lookup import read_cell
from dpbench.tracking.store import open_store

SMALL = ("dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2")

SHIFTED = '''
    from dataclasses import dataclass
    from pathlib import Path

    import numpy as np

    from dpbench import Mechanism, hookimpl
    from dpbench.contracts.mechanism import Fit

    @dataclass(frozen=True)
    class Shifted(Mechanism):
        """Weights that a file decides."""

        name = "shifted"
        guarantee = "none"

        def fit(self, curator, problem, budget):
            text = Path("weight").read_text()
            return Fit.good(np.full((curator.runs, curator.geometry.dimension), float(text)))

    @hookimpl
    def dpbench_mechanisms():
        return [Shifted]
'''


def recorded(home: Any, *overrides: str) -> CellRecord:
    """Run one cell and read its record from the store."""
    assert home.run(*SMALL, *overrides).code == 0
    with open_store(create=False) as store:
        return read_cell(store, home.runs()[-1].info.run_id)


@pytest.fixture
def shifted(home: Any, drop_in: Callable[[str, str], Path]) -> Path:
    """The file that decides the weights of the mechanism ``shifted``."""
    drop_in("shifted", SHIFTED)
    path: Path = home.folder / "weight"
    path.write_text("0.5")
    last_runner.clear()  # an earlier test may have left a fit with another weight
    return path


@pytest.mark.parametrize(
    "overrides",
    [
        ("mechanism=fm", "epsilon=0.8", "seed=3"),
        ("mechanism=fm", "sensitivity=published", "epsilon=2"),
        ("mechanism=adassp", "budget=matched", "mechanism.calibration=joint", "clipped=true", "quick=true"),
        ("mechanism=no_privacy", "model=logistic", "attack=membership", "dataset.threshold=0"),
        ("mechanism=ssp", "inference.level=0.9", "dataset.resample=true"),
        ("mechanism=fm", "model=ridge", "model.penalty=0.1", "splits=holdout", "audit.level=component", "audit.runs=500"),
    ],
    ids=lambda overrides: overrides[0] + " " + overrides[-1],
)
def test_every_number_comes_out_the_same(home: Any, overrides: tuple[str, ...]) -> None:
    cell = recorded(home, *overrides)
    again = reproduce(cell)
    assert again.drifts == ()
    assert again.same
    assert again.versions == {}
    assert again.rerun.key == cell.key
    assert set(again.columns) == set(cell.detail.runs)


def test_nothing_is_recorded(home: Any) -> None:
    cell = recorded(home, "mechanism=fm")
    before = sorted(home.folder.rglob("*"))
    reproduce(cell)
    assert sorted(home.folder.rglob("*")) == before
    assert len(home.runs()) == 1


def test_a_drift_begins_with_the_primary_metric_and_says_how_large_it_is(home: Any, shifted: Path) -> None:
    cell = recorded(home, "mechanism=shifted")
    assert reproduce(cell).same
    shifted.write_text("0.25")
    again = reproduce(cell)
    assert not again.same
    assert again.drifts[0].column == "utility/rmse"
    drift = next(drift for drift in again.drifts if drift.column == "weight/x1")
    assert (drift.difference, drift.runs) == (0.5, 10)
    assert not any(drift.column.startswith("reference/") for drift in again.drifts)
    assert again.versions == {}, "no version tells the file's content"


def test_code_that_was_edited_is_named(home: Any, shifted: Path, drop_in: Callable[[str, str], Path]) -> None:
    cell = recorded(home, "mechanism=shifted")
    drop_in("shifted", SHIFTED.replace("float(text)", "float(text) + 0"))
    again = reproduce(cell)
    assert again.same, "the edit changed no number"
    assert "code of the mechanism" in again.versions


def test_numbers_that_stopped_being_finite_differ_infinitely_and_nan_is_equal_to_nan(home: Any, shifted: Path) -> None:
    shifted.write_text("nan")
    cell = recorded(home, "mechanism=shifted")
    assert reproduce(cell).same
    shifted.write_text("1")
    weight = next(drift for drift in reproduce(cell).drifts if drift.column == "weight/x1")
    assert weight.difference == np.inf


def test_a_cell_that_fails_now_has_drifted(home: Any, shifted: Path) -> None:
    cell = recorded(home, "mechanism=shifted")
    shifted.unlink()
    again = reproduce(cell)
    assert not again.same
    assert "FileNotFoundError" in again.rerun.reason


def test_a_record_without_the_digests_names_the_key_instead(home: Any) -> None:
    cell = recorded(home, "mechanism=fm")
    config = {name: value for name, value in cell.detail.config.items() if name != "versions"}
    older = replace(cell, detail=DetailInMemory(config, runs=cell.detail.runs))
    assert versions_of(older) == {}
    assert list(versions_of(replace(older, key="another"))) == ["key"]


def versions_of(cell: CellRecord) -> dict[str, tuple[str, str]]:
    again: Reproduction = reproduce(cell)
    assert again.same
    return again.versions


@pytest.mark.parametrize("change", ["secure", "files", "plugin", "data"])
def test_what_cannot_run_again_is_refused_with_one_sentence(home: Any, change: str) -> None:
    cell = recorded(home, "mechanism=fm")
    config = dict(cell.detail.config)
    if change == "secure":
        cell, words = replace(cell, tags={**cell.tags, "dpbench.noise": "secure"}), "came from the operating system"
    elif change == "files":
        config, words = {}, "are not where they were recorded"
    elif change == "plugin":
        config, words = {**config, "mechanism": {"name": "gone"}}, "There is no mechanism named 'gone'"
    else:
        config, words = {**config, "dataset": {"name": "table", "path": "gone.csv", "target": "y"}}, "gone.csv"
    with pytest.raises(Refused, match=words):
        reproduce(replace(cell, detail=DetailInMemory(config, runs=cell.detail.runs)))
