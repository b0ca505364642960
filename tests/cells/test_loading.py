"""Loading the rows of a cell: what is cached, and which options leave the random streams alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.loading import DatasetRows, identity, rows_of
from dpbench.data.splits import Splits

GAUSSIAN = {"n": 60, "d": 2}


def cell(**dataset: Any) -> Cell:
    names = ("fm", "linear", "gaussian", "none")
    choices = [ComponentChoice(name, {**GAUSSIAN, **dataset} if name == "gaussian" else {}) for name in names]
    return Cell(*choices, Splits("kfold", 3, 2), Settings(), {})


def test_cells_with_the_same_rows_share_them() -> None:
    first = rows_of(cell())
    assert rows_of(cell()) is first
    assert rows_of(cell(n=61)) is not first


@pytest.mark.parametrize("redraw", [False, True])
def test_a_table_is_the_same_for_all_repeats_unless_it_is_redrawn(redraw: bool) -> None:
    rows = rows_of(cell(redraw=redraw))
    first, second = (rows.scaled(repeat).rows.z for repeat in (0, 1))
    assert (first is second) != redraw
    assert np.array_equal(first, second) != redraw
    np.testing.assert_array_equal(rows.scaled(0).rows.z, first)


def test_every_row_has_a_part_in_every_repeat() -> None:
    rows = rows_of(cell())
    first, second = rows.labels(0), rows.labels(1)
    assert first.shape == (60,)
    assert set(first.tolist()) == {0, 1}
    assert (first != second).any()


@pytest.mark.parametrize("splits", [Splits("kfold", 2, 3), Splits("holdout", 4, test_fraction=0.3)], ids=["k-fold", "hold-out"])
@pytest.mark.parametrize("rate", [1.0, 0.6])
def test_all_rows_of_a_person_are_in_one_part_and_n_is_that_of_the_persons(splits, rate, make, tmp_path) -> None:
    generator = np.random.default_rng(0)
    who, x = generator.integers(0, 50, 120), generator.random(120)
    (tmp_path / "it.csv").write_text("who,x,y\n" + "".join(f"{a},{b},{b}\n" for a, b in zip(who, x, strict=True)))
    bounds = {"x": [0, 1], "y": [0, 1]}
    options = {"path": str(tmp_path / "it.csv"), "target": "y", "bounds": bounds, "person": "who", "rows_per_person": 2}
    rows = DatasetRows(make("dataset", "table", sample_rate=rate, **options), make("model", "linear"), splits, 0)
    table = rows.scaled(0)
    assert table.persons is not None
    sampled = round(rate * table.persons.count)
    block = rows.block(range(splits.repeats))
    for run, (repeat, fold) in enumerate(block.runs):
        labels = rows.labels(repeat)
        assert all(len(set(labels[table.persons.of_row == person])) == 1 for person in range(table.persons.count))
        sizes = splits.sizes(sampled)
        assert block.test.n[run] == 2 * sizes[fold]
        assert block.train.n[run] == 2 * (sampled - sizes[fold])
        assert block.train.moments.n[run] == block.train.rows(run).n == (labels >= 0).sum() - (labels == fold).sum()
        assert block.train.rows(run).public_n == block.train.n[run]
        assert block.train.rows(run).n < block.train.n[run]


def test_rows_of_persons_are_not_split_by_blocks(make, tmp_path) -> None:
    (tmp_path / "it.csv").write_text("who,x,y\n" + "a,0.2,1\nb,0.3,0\n" * 20)
    options = {"path": str(tmp_path / "it.csv"), "target": "y", "bounds": {"x": [0, 1], "y": [0, 1]}}
    dataset = make("dataset", "table", person="who", rows_per_person=2, **options)
    rows = DatasetRows(dataset, make("model", "linear"), Splits(by="blocks"), 0)
    with pytest.raises(Refused, match=r"^With splits\.by=blocks each row is a person of its own: leave out dataset\.person"):
        rows.labels(0)


def test_blocks_of_rows_stay_together_and_their_parts_are_public(make) -> None:
    splits = Splits("kfold", 3, 2, by="blocks")
    rows = DatasetRows(make("dataset", "gaussian", n=50_000, d=1), make("model", "linear"), splits, 0)
    block = rows.block(range(3))
    assert block.by_blocks
    for repeat in range(3):
        np.testing.assert_array_equal(np.bincount(rows.labels(repeat)), rows.part_sizes(repeat))
    np.testing.assert_array_equal(block.counts, [rows.part_sizes(repeat) for repeat in range(3)])


def test_selecting_columns_leaves_the_random_streams_alone(make: Callable[..., Any]) -> None:
    assert identity(make("dataset", "wine", attributes=("alcohol",))) == identity(make("dataset", "wine"))
    assert identity(make("dataset", "wine", color="red")) != identity(make("dataset", "wine"))


def test_a_block_holds_the_rows_of_its_repeats(make: Callable[..., Any]) -> None:
    rows = DatasetRows(make("dataset", "gaussian", **GAUSSIAN), make("model", "linear"), Splits("kfold", 3, 2), 0)
    block = rows.block([1, 2])
    assert block.runs == [(1, 0), (1, 1), (2, 0), (2, 1)]
    np.testing.assert_array_equal(block.train.n + block.test.n, 60)


def resampled(make: Callable[..., Any], **options: Any) -> DatasetRows:
    return DatasetRows(make("dataset", "wine", resample=True, **options), make("model", "linear"), Splits("kfold", 3, 2), 0)


def test_a_repeat_resamples_as_many_rows_of_the_table_with_replacement(make: Callable[..., Any]) -> None:
    """The share of distinct rows among n draws is 1 - 1/e, with a standard deviation below 1 / (2√n)."""
    rows, source = resampled(make), DatasetRows(make("dataset", "wine"), make("model", "linear"), Splits("kfold", 3, 2), 0)
    table = source.scaled(0).rows.z
    distinct = np.unique(table, axis=0)
    first, second = (rows.scaled(repeat).rows.z for repeat in (0, 1))
    assert first.shape == table.shape
    assert (first != second).any()
    np.testing.assert_array_equal(rows.scaled(0).rows.z, first)
    np.testing.assert_array_equal(np.unique(np.vstack([distinct, first]), axis=0), distinct)
    numbered = DatasetRows(
        make("dataset", "gaussian", n=4_000, d=1, resample=True), make("model", "linear"), Splits("kfold", 3, 2), 0
    )
    share = len(np.unique(numbered.scaled(0).rows.z, axis=0)) / 4_000
    assert abs(share - (1 - np.exp(-1))) < 6 / (2 * np.sqrt(4_000))
    np.testing.assert_array_equal(rows.labels(1), source.labels(1), "the splits are those of the table")


def test_docs_say_how_often_a_resample_has_the_same_row_of_the_table(make: Callable[..., Any]) -> None:
    """To the promise, a row that was drawn k times is k rows."""
    text = " ".join((Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8").split())
    for name, n in (("wine", 4_898), ("adult", 48_842), ("census", 370_000)):
        identifier = identity(make("dataset", name, resample=True))
        draws = [stream(0, identifier, "resample", repeat).integers(n, size=n) for repeat in range(50)]
        most = max(int(np.bincount(draw).max()) for draw in draws)
        assert f"{most} times for `{name}` ({n:,}" in text
        if name == "wine":
            table = DatasetRows(make("dataset", "wine"), make("model", "linear"), Splits("kfold", 3, 2), 0).scaled(0).rows.z
            np.testing.assert_array_equal(resampled(make).scaled(2).rows.z, table[np.sort(draws[2])])
            assert f"such a row of `wine` has ε = {most}" in text


def test_the_known_coefficients_of_resampled_rows_are_the_fit_to_the_whole_table(make: Callable[..., Any]) -> None:
    rows = resampled(make, sample_n=500)
    table = DatasetRows(make("dataset", "wine", sample_n=500), make("model", "linear"), Splits(), 0).scaled(0).rows
    fitted = np.linalg.lstsq(table.x, table.y, rcond=None)[0]
    known = rows.known_coefficients(rows.block([1, 2]).runs)
    np.testing.assert_allclose(known, np.tile(fitted, (4, 1)), rtol=1e-6)
    fits = [np.linalg.lstsq(rows.scaled(repeat).rows.x, rows.scaled(repeat).rows.y, rcond=None)[0] for repeat in (1, 2)]
    assert all(np.abs(fit - fitted).max() > 1e-3 for fit in fits)


def test_each_run_has_the_known_coefficients_of_its_own_table(make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept from the pass over the rows: nothing is drawn again."""
    dataset = make("dataset", "simulated", n=60, d=2)
    drawn = []
    load = type(dataset).load

    def counted(self: Any, generator: np.random.Generator) -> Any:
        drawn.append(load(self, generator))
        scale = len(drawn)
        return replace(drawn[-1], coefficients=tuple(scale * value for value in drawn[-1].coefficients))

    monkeypatch.setattr(type(dataset), "load", counted)
    rows = DatasetRows(dataset, make("model", "linear"), Splits("kfold", 3, 2), 0)
    block = rows.block([1, 2])
    assert block.train.moments.n.shape == (4,)
    loaded = len(drawn)
    known = rows.known_coefficients(block.runs)
    assert len(drawn) == loaded
    np.testing.assert_array_equal(known[0], known[1])
    np.testing.assert_array_equal(known[2], known[3])
    assert (known[0, 1:] != known[2, 1:]).all()
    np.testing.assert_array_equal(rows.known_coefficients([(2, 0)])[0], known[2])


def test_unknown_coefficients_are_nan(make: Callable[..., Any]) -> None:
    rows = DatasetRows(make("dataset", "gaussian", **GAUSSIAN), make("model", "linear"), Splits("kfold", 3, 2), 0)
    known = rows.known_coefficients(rows.block([0, 1]).runs)
    assert known.shape == (4, 3)
    assert np.isnan(known).all()


def test_resampling_changes_no_other_stream(make: Callable[..., Any]) -> None:
    assert identity(make("dataset", "wine", resample=True)) == identity(make("dataset", "wine"))
