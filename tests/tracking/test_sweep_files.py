"""A sweep that is read back from the store is the sweep that was run, and its plan can be read by any program."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.metric_info import MetricInfo
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.cell_files import StoredDetail
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.sweep_files import preset_sweeps, read_sweep, write_sweep_files

GRID = {"model": ["linear", "logistic"], "mechanism": ["fm", "truncated"], "epsilon": [0.5, 2.0]}
FIXED = {"splits.repeats": 2, "dataset.attributes": ("alcohol", "density"), "dataset.sample_n": 400}

CELLS = (
    CellRecord(
        "run", {"mechanism": "fm", "epsilon": "0.8"}, {"dpbench.sound": "true"}, {"utility/rmse_median": 0.25}, run_id="a"
    ),
    CellRecord("pruned", {"mechanism": "fm", "model": "robust", "epsilon": "0.8"}, reason="fm, on robust: no"),
)


def run(uri: str, command: Sequence[str] = ("-m",), **more: object) -> list[CellRecord]:
    """A small sweep as the command line runs it, and the rows it saw."""
    from dpbench.sweeps.execution import execute
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.override_text import override_text
    from dpbench.sweeps.plan import plan

    asked = {**FIXED, "dataset": "wine", "tracking.uri": uri, **more}
    overrides = [f"{key}={override_text(value)}" for key, value in asked.items()]
    points = grid_points(overrides)
    requested = [word for word in command if "=" in word]
    return list(execute(plan(points), points[0].config, sweep="-m" in command, command=command, overrides=requested).cells)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('reading') / 'mlflow.db'}"


@pytest.fixture(scope="module")
def rows(uri: str) -> list[CellRecord]:
    return run(uri, **GRID)


@pytest.fixture
def store(uri: str, rows: list[CellRecord]) -> Iterator[Store]:
    with open_store(uri, create=False) as opened:
        yield opened


def test_every_cell_comes_back_with_its_numbers(store: Store, rows: list[CellRecord]) -> None:
    read = read_sweep(store).cells
    assert list(read) == rows, "params, tags, metrics, state, reason, run: all that is compared"
    assert {row.state for row in read} == {"run", "pruned"}


def test_every_cells_files_come_back(store: Store, rows: list[CellRecord]) -> None:
    for read, made in zip(read_sweep(store).cells, rows, strict=True):
        if not made.done:
            assert not read.detail.runs
            continue
        assert read.detail.config == made.detail.config
        assert read.detail.ledger == made.detail.ledger
        assert list(read.detail.runs) == list(made.detail.runs)
        for name, values in made.detail.runs.items():
            np.testing.assert_array_equal(read.detail.runs[name], values)
        assert read.detail.curves.keys() == made.detail.curves.keys()
        for name, curve in made.detail.curves.items():
            for column, values in curve.items():
                np.testing.assert_array_equal(read.detail.curves[name][column], values)
    assert any("utility/roc" in row.detail.curves for row in rows)


def test_a_sweep_goes_by_its_run_its_preset_or_as_the_newest(store: Store, uri: str) -> None:
    older = read_sweep(store)
    assert read_sweep(store, older.run_id[:6]).run_id == older.run_id
    run(uri, experiment="zhang2012/fig6", model="linear", mechanism="fm", quick=True, **{"dataset.attributes": ("alcohol",)})
    newer = read_sweep(store)
    assert newer.run_id != older.run_id
    assert newer.quick
    assert read_sweep(store, "zhang2012/fig6").run_id == newer.run_id
    assert newer.preset is not None
    assert newer.preset.figure.y == ("utility/mse", "utility/error_rate")
    assert list(preset_sweeps(store)) == ["zhang2012/fig6"]
    assert read_sweep(store, older.run_id).preset is None


@pytest.mark.parametrize("asked", ["abc", "zhang2012/fig60", "0" * 32])
def test_a_name_that_no_sweep_has_is_refused_with_those_there_are(asked: str, store: Store) -> None:
    with pytest.raises(Refused, match=f"no finished sweep '{asked}'.*Known: "):
        read_sweep(store, asked)


def test_the_newest_sweeps_have_names_where_there_are_enough(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    run(uri, command=(), mechanism="fm", epsilon=1)  # a single cell is no sweep
    with open_store(uri, create=False) as store:
        for name in ("latest", "previous"):
            with pytest.raises(Refused, match=r"there is no finished sweep\. A sweep is run with -m"):
                read_sweep(store, name)
        run(uri, mechanism="fm", epsilon=[1, 2])
        only = read_sweep(store, "latest")
        with pytest.raises(Refused, match=f"there is only one finished sweep, {only.run_id}"):
            read_sweep(store, "previous")
        run(uri, mechanism="fm", epsilon=[1, 3])
        assert read_sweep(store, "previous").run_id == only.run_id


def test_a_whole_sweep_stands_before_a_newer_quick_one(store: Store, uri: str) -> None:
    grid = {"model": "linear", "mechanism": "fm", "epsilon": [1, 2], "dataset.attributes": ("alcohol",)}
    run(uri, experiment="zhang2012/fig6", **grid)
    run(uri, experiment="zhang2012/fig6", quick=True, **{**grid, "epsilon": [1, 3]})
    assert not preset_sweeps(store)["zhang2012/fig6"].quick


def test_a_preset_as_it_is_stands_before_a_newer_one_that_was_changed(store: Store, uri: str) -> None:
    grid = {"model": "linear", "mechanism": "fm", "dataset.attributes": ("alcohol",)}
    command = ["-m", "experiment=zhang2012/fig6", "engine=serial", "tracking.uri=here"]
    run(uri, command, experiment="zhang2012/fig6", epsilon=[1, 4], **grid)
    assert preset_sweeps(store)["zhang2012/fig6"].changed == []
    run(uri, [*command, "epsilon=1,5"], experiment="zhang2012/fig6", epsilon=[1, 5], **grid)
    assert read_sweep(store).changed == ["epsilon=1,5"]
    assert preset_sweeps(store)["zhang2012/fig6"].changed == []


def test_a_sweep_that_is_asked_for_again_is_the_newest_again(store: Store, uri: str) -> None:
    grid = {"model": "linear", "mechanism": "fm", "dataset.attributes": ("alcohol",)}
    run(uri, epsilon=[6, 7], **grid)
    first = read_sweep(store).run_id
    run(uri, epsilon=[8, 9], **grid)
    assert read_sweep(store).run_id != first
    run(uri, epsilon=[6, 7], **grid)
    assert read_sweep(store).run_id == first


def test_a_refusal_lists_at_most_ten_sweeps(database: Path) -> None:
    with open_store(f"sqlite:///{database}", "eleven sweeps") as store, Writer(store) as writer:
        for number in range(11):
            writer.close_sweep(writer.open_sweep(f"s{number}", "a sweep", SweepRecord((), "command"), ""), "FINISHED", "")
        with pytest.raises(Refused, match=r"Known: (\w{32}, ){9}\w{32} and 1 more\.$"):
            read_sweep(store, "zhang2012/fig66")


@pytest.mark.parametrize(
    ("length", "words"), [(5, "A run id needs at least its first 6 characters"), (6, "no finished sweep '.{6}'. K")]
)
def test_a_prefix_of_five_characters_names_no_sweep(length: int, words: str, store: Store) -> None:
    with pytest.raises(Refused, match=words):
        read_sweep(store, "z" * length)


def test_a_sweep_comes_back_from_its_files(store: Store, tmp_path: Path) -> None:
    info = {"utility/rmse": MetricInfo("utility/rmse", "RMSE", "The error.", "lower")}
    sweep = SweepRecord(CELLS, "command", ("epsilon=0.8",), quick=True, option_help={"mechanism.ridge": "λ"}, metric_info=info)
    write_sweep_files(sweep, tmp_path)
    with Writer(store) as writer:
        parent = writer.open_sweep("files", "a sweep", sweep, "")
        writer.close_sweep(parent, "FINISHED", "", tmp_path)
    read = read_sweep(store, parent)
    assert read.cells == CELLS
    assert read.request() == sweep.request()
    assert read.run_id == parent
    assert [type(cell.detail) for cell in read.cells] == [StoredDetail, DetailInMemory], "a pruned cell has no run"
    assert read.cells[0].detail.artifact_uri.endswith("/a/artifacts"), "the files of a cell are below its own run"


def test_the_plan_has_a_row_per_cell_with_the_reason(tmp_path: Path) -> None:
    write_sweep_files(SweepRecord(CELLS, "command"), tmp_path)
    rows = list(csv.DictReader((tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["state"], row["why"], row["mechanism"], row["model"]) for row in rows] == [
        ("run", "", "fm", ""),
        ("pruned", "fm, on robust: no", "fm", "robust"),
    ]


def test_the_newest_sweep_and_the_one_before_have_names(uri: str, rows: list[CellRecord], store: Store) -> None:
    first = read_sweep(store, "latest").run_id
    run(uri, mechanism="no_privacy")
    newest = read_sweep(store, "latest").run_id
    assert newest != first
    assert read_sweep(store).run_id == newest
    assert read_sweep(store, "previous").run_id == first
