"""The same command gives the same bits: on any engine, in any order, in any blocks, with any number of threads outside."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  loads SciPy's BLAS, so that the limits below reach it
from threadpoolctl import threadpool_info, threadpool_limits

from dpbench.cells import loading as sources
from dpbench.cells import unit_runner as unit
from dpbench.cells.loading import rows_of
from dpbench.records.cell_record import CellRecord
from dpbench.sweeps import plan as plan_module
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.engines.choice import engine_from
from dpbench.sweeps.engines.local import Local
from dpbench.sweeps.engines.loop import Engine
from dpbench.sweeps.engines.serial import Serial
from dpbench.sweeps.engines.unit_folder import UnitFolder
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan
from dpbench.sweeps.running import run_cells

# wide enough for the decompositions to use more than one thread, were they let
GRID = (
    "mechanism=fm,dpba,no_privacy",
    "epsilon=0.5,50",
    "dataset=gaussian",
    "dataset.n=1500",
    "dataset.d=199",
    "splits.repeats=3",
    "splits.folds=2",
)
Records = dict[str, CellRecord]


@contextmanager
def threads(count: int) -> Iterator[None]:
    with threadpool_limits(count, user_api="blas"):
        yield


def records(engine: Engine, *overrides: str, backwards: bool = False) -> Records:
    unit.last_runner.clear()  # nothing that an earlier sweep of this process computed is taken for a result of this one
    sources.last_rows.clear()
    points = grid_points(overrides or GRID)
    found: Records = {}
    planned = plan(points[::-1] if backwards else points)
    run_cells(planned, engine, lambda record: found.__setitem__(record.key, record), Audits(planned, {}))
    return found


def bits(found: Records) -> dict[str, Any]:
    """Everything about the cells that is not a clock's, to the bit."""
    return {
        key: {
            "state": record.state,
            "config": record.detail.config,
            "params": record.params,
            "tags": record.tags,
            "metrics": {name: value.hex() for name, value in record.metrics.items() if not name.startswith("time/")},
            "ledger": record.detail.ledger,
            "runs": {name: (values.dtype.str, values.tobytes()) for name, values in record.detail.runs.items()},
            "error": record.reason,
        }
        for key, record in found.items()
    }


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    with threads(1):
        found = bits(records(Serial()))
    assert len(found) == 5, "one of no_privacy"
    assert all(cell["state"] == "run" for cell in found.values())
    return found


def test_the_local_engine_gives_the_same_bits(expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert bits(records(Local(2))) == expected


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_clusters_give_the_same_bits(expected: dict[str, Any], name: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{name.title()} is not installed: pip install -e '.[{name}]'")
    assert bits(records(engine_from({"name": name, "workers": 2}))) == expected


def test_a_folder_of_units_gives_the_same_bits(expected: dict[str, Any], tmp_path: Path) -> None:
    folder = UnitFolder(tmp_path / "units", create=True).path
    command = [sys.executable, "-m", "dpbench", "work", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL), subprocess.Popen(command, stdout=subprocess.DEVNULL):
        assert bits(records(engine_from({"name": "files", "folder": str(folder)}))) == expected


@pytest.mark.skipif(not any(pool["user_api"] == "blas" for pool in threadpool_info()), reason="no BLAS whose threads can be set")
def test_two_blas_threads_outside_change_no_bit(expected: dict[str, Any]) -> None:
    with threads(2):
        assert bits(records(Serial())) == expected


def test_the_order_of_the_cells_changes_no_bit(expected: dict[str, Any]) -> None:
    found = bits(records(Serial(), backwards=True))
    assert list(found) != list(expected)
    assert found == expected


@pytest.mark.parametrize("rows", [1, 2 * 1500], ids=["one repeat a block", "two repeats, then one"])
def test_other_blocks_change_no_bit(expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    before = len(plan(grid_points(GRID)).units())
    monkeypatch.setattr(plan_module, "BLOCK_ROWS", rows)
    assert len(plan(grid_points(GRID)).units()) > before
    assert bits(records(Serial())) == expected


def test_one_cell_a_unit_changes_no_bit(expected: dict[str, Any]) -> None:
    class Apart(Serial):
        cells_apart = True

    assert bits(records(Apart())) == expected


def test_blocks_that_are_read_from_other_processes_agree_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are drawn anew for each repeat, redrawn noise, and blocks of one repeat on two workers."""
    grid = (
        "mechanism=fm",
        "mechanism.until_bounded=true,false",
        "epsilon=20",
        "dataset=gaussian",
        "dataset.n=400",
        "dataset.d=3",
        "dataset.redraw=true",
        "dataset.sample_rate=0.9",
        "splits=holdout",
        "splits.repeats=5",
    )
    expected = bits(records(Serial(), *grid))
    monkeypatch.setattr(plan_module, "BLOCK_ROWS", 1)
    assert len(plan(grid_points(grid)).units()) == 5
    assert bits(records(Local(2), *grid)) == expected


def test_a_seed_says_which_bits(expected: dict[str, Any]) -> None:
    (one,) = records(Serial(), *GRID[2:], "mechanism=no_privacy").values()
    (other,) = records(Serial(), *GRID[2:], "mechanism=no_privacy", "seed=1").values()
    assert one.key != other.key
    assert one.detail.runs["seed"][0] == 0
    assert other.detail.runs["seed"][0] == 1
    assert not np.array_equal(one.detail.runs["weight/x1"], other.detail.runs["weight/x1"])


def test_mechanisms_and_epsilons_meet_the_same_splits(expected: dict[str, Any]) -> None:
    shared = ("repeat", "fold", "n_train", "n_test", "reference/no_privacy/rmse", "reference/mean_predictor/rmse")
    first, *others = (cell["runs"] for cell in expected.values())
    for runs in others:
        assert {name: runs[name] for name in shared} == {name: first[name] for name in shared}


def test_the_default_blocks_depend_on_the_data_alone() -> None:
    (small,) = plan(grid_points(GRID)).units()
    assert small.repeats == (0, 1, 2)
    large = plan(grid_points(["dataset=gaussian", "dataset.n=200000", "dataset.d=2", "splits.repeats=50"]))
    repeats = [unit.repeats for unit in large.units()]
    assert sorted(repeat for block in repeats for repeat in block) == list(range(50))
    rows = rows_of(large.to_run[0].cell).scaled(0).rows.n
    lengths = [len(block) for block in repeats]
    assert max(lengths) <= plan_module.BLOCK_ROWS // rows
    assert max(lengths) - min(lengths) <= 1, "no worker waits long for the last block"
