"""Two stores become one: every cell once, every sweep with a report of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord
from dpbench.sweeps.merging import Merged, merge
from dpbench.tracking.cell_index import cell_index
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import read_sweep

SMALL = ("dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2", "engine=serial")


def numbers(cell: CellRecord) -> dict[str, float]:
    """Return the metrics of a cell without times: a cell that both stores had was run twice."""
    return {name: value for name, value in cell.metrics.items() if not name.startswith("time/")}


@pytest.fixture
def theirs(home: Any) -> str:
    """A store with a sweep of four cells and a single cell."""
    uri = f"sqlite:///{home.folder / 'theirs.db'}"
    for line in (("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8"), ("mechanism=fm", "epsilon=3.2")):
        assert home.run(*line, *SMALL, f"tracking.uri={uri}").code == 0
    return uri


def test_what_is_missing_is_copied_once(home: Any, theirs: str) -> None:
    mine = f"sqlite:///{home.folder / 'mine.db'}"
    home.run("-m", "mechanism=fm", "epsilon=0.1,1.6", *SMALL, f"tracking.uri={mine}")
    with open_store(theirs) as source, open_store(mine) as target:
        before = (home.folder / "theirs.db").read_bytes()
        assert merge(source, target) == Merged(sweeps=1, cells=4, present=1)
        assert merge(source, target) == Merged(sweeps=0, cells=0, present=5)
        keys = [cell.key for cell in cell_index(target).cells(None)]
        assert len(keys) == len(set(keys)) == 6
        copied, original = read_sweep(target), read_sweep(source)
        assert copied.command == original.command
        assert list(map(numbers, copied.cells)) == list(map(numbers, original.cells))
        assert {cell.run_id for cell in copied.cells}.isdisjoint(cell.run_id for cell in original.cells)
        assert [cell.detail.config for cell in copied.cells] == [cell.detail.config for cell in original.cells]
        assert any(item.path == "report" for item in target.client.list_artifacts(copied.run_id))
        source.close()
        assert (home.folder / "theirs.db").read_bytes() == before
    again = home.run("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8", *SMALL, f"tracking.uri={mine}")
    assert again.counted.startswith("Cells: 0 run, 4 already recorded")


@pytest.mark.parametrize("present", [False, True], ids=["copied", "there before"])
def test_what_an_audit_or_a_later_run_found_comes_along(present: bool, home: Any, theirs: str) -> None:
    """The sweep of the source keeps the records that it had: what is newer is in the store, and in a later sweep."""
    mine = f"sqlite:///{home.folder / 'mine.db'}"
    line = ("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8", *SMALL)
    if present:
        home.run(*line, f"tracking.uri={mine}")
    home.run(*line, f"tracking.uri={theirs}", "rerun=true")
    with open_store(theirs) as source, open_store(mine) as target:
        newest = next(cell for cell in read_sweep(source).cells if cell.params["mechanism"] == "fm")
        for name, text in {"guarantee": "refuted", "guarantee_why": "It moved.", "sound": "false"}.items():
            source.client.set_tag(newest.run_id, f"dpbench.{name}", text)
        merge(source, target)
        with Writer(target) as writer:
            assert writer.finished([newest.key])[newest.key].guarantee == "REFUTED"
        words = {cell.key: cell.guarantee for cell in read_sweep(target).cells}
        assert words.pop(newest.key) == "REFUTED"
        assert set(words.values()) == {"claimed"}


def test_a_store_is_not_merged_into_itself(theirs: str) -> None:
    with open_store(theirs) as store, pytest.raises(Refused, match="cannot be merged into itself"):
        merge(store, store)


def test_a_failed_cell_comes_with_its_sweep(home: Any, tmp_path: Path, drop_in: Any) -> None:
    drop_in(
        "careless",
        """
        from dataclasses import dataclass
        from dpbench import Mechanism, hookimpl

        @dataclass(frozen=True)
        class Careless(Mechanism):
            "Divide by zero. Guarantee: none."
            name = "careless"
            def fit(self, curator, problem, budget):
                return 1 / 0

        @hookimpl
        def dpbench_mechanisms():
            return [Careless]
        """,
    )
    theirs, mine = (f"sqlite:///{tmp_path / name}.db" for name in ("theirs", "mine"))
    assert home.run("-m", "mechanism=fm,careless", "epsilon=0.8", *SMALL, f"tracking.uri={theirs}").code == 1
    with open_store(theirs) as source, open_store(mine) as target:
        assert merge(source, target) == Merged(sweeps=1, cells=1, present=0)
        assert sorted(cell.state for cell in read_sweep(target).cells) == ["failed", "run"]
