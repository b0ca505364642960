"""What cannot run on a streamed table is pruned with the reason, or refused if nothing could run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    """The keys of a streamed CSV of 30,000 rows."""
    generator = np.random.default_rng(0)
    x, y = generator.random(30_000).round(3), generator.random(30_000).round(3)
    (tmp_path / "it.csv").write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)))
    path = f"dataset.path={tmp_path / 'it.csv'}"
    bounds = "dataset.bounds={x:{low:0,high:1},y:[0,1]}"
    return ["dataset=table", path, "dataset.target=y", bounds, "dataset.stream=true", "splits.repeats=1", "splits.folds=2"]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["mechanism=privr"], "privr needs the rows, not only sums of products of columns, and the table is streamed"),
        (["mechanism=drop_sensitive", "mechanism.base=privr", "dataset.sensitive=[x]"], "drop_sensitive does not fit linear"),
        (["model=logistic", "dataset.threshold=0.5"], "The model logistic needs the rows for its non-private fit"),
        (["model=ridge", "model.penalty=cv"], "The model ridge needs the rows for its non-private fit"),
        (["attack=membership"], "The attack membership needs the rows, and the table is streamed"),
    ],
)
def test_what_needs_rows_is_pruned_with_the_reason(keys: list[str], reason: str, table: list[str]) -> None:
    (cell,) = plan(grid_points([*table, "splits.by=blocks", *keys])).cells
    assert cell.state == "pruned"
    assert cell.reason.startswith(reason)


def test_sums_are_enough_for_the_default_mechanism_and_all_repeats_are_one_unit(table: list[str]) -> None:
    planned = plan(grid_points([*table, "splits.by=blocks", "mechanism=fm,privr"]))
    assert [cell.state for cell in planned.cells] == ["run", "pruned"]
    assert len(planned.units()) == 1
    (facts,) = planned.tables.values()
    assert facts.streamed
    assert facts.rows == 30_000


def test_splits_by_rows_are_refused_with_what_to_do(table: list[str]) -> None:
    with pytest.raises(Refused, match=r"^A streamed table is split by blocks of rows, .*: set splits\.by=blocks\. Or load it"):
        plan(grid_points(table))


def test_a_table_too_large_for_the_memory_is_streamed(table: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    unsaid = [*(key for key in table if "stream" not in key), "splits.by=blocks"]
    (loaded,) = plan(grid_points(unsaid)).cells
    assert "stream" not in loaded.cell.dataset.options
    monkeypatch.setattr("dpbench.sweeps.resolution.machine_memory", lambda: 10_000)
    (streamed,) = plan(grid_points(unsaid)).cells
    assert streamed.cell.dataset.options["stream"] is True
    assert streamed.cell.key == plan(grid_points([*table, "splits.by=blocks"])).cells[0].cell.key
