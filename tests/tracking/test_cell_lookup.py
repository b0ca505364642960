"""A cell is found by its run id or a prefix that no other run has, and only if it has results."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.tracking import cell_lookup
from dpbench.tracking.cell_lookup import read_cell


def test_the_whole_id_and_a_prefix_name_the_same_cell(store, writer, make_record) -> None:
    run_id = writer.write(make_record(), None).run_id
    cell = read_cell(store, run_id)
    assert (cell.run_id, cell.key, cell.params) == (run_id, "a1", make_record().params)
    assert read_cell(store, run_id[:8]).run_id == run_id
    assert cell.detail.runs["utility/rmse"].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_prefix_that_several_runs_share_is_refused_with_their_ids(store, writer, make_record, monkeypatch) -> None:
    ids = [writer.write(make_record(key), None).run_id for key in ("a1", "b2")]
    monkeypatch.setattr(cell_lookup, "MIN_RUN_ID_LENGTH", 0)
    with pytest.raises(Refused) as refusal:
        read_cell(store, "")
    assert all(run_id in str(refusal.value) for run_id in ids)


@pytest.mark.parametrize("name", ["abc", "not hexadecimal", "%%%%%%%%", "'; drop"])
def test_what_cannot_be_the_beginning_of_an_id_is_refused(store, name: str) -> None:
    with pytest.raises(Refused, match="first 6 or more characters"):
        read_cell(store, name)


def test_an_unknown_id_is_refused(store, writer, make_record) -> None:
    writer.write(make_record(), None)
    with pytest.raises(Refused, match="there is no run 'ffffffffffffffffffff'"):
        read_cell(store, "f" * 20)


def test_a_failed_cell_and_a_sweep_are_refused(store, writer, make_failure) -> None:
    from dpbench.records.sweep_record import SweepRecord

    with pytest.raises(Refused, match="did not finish: LinAlgError: singular"):
        read_cell(store, writer.write(make_failure(), None).run_id)
    parent = writer.open_sweep("s1", "a sweep", SweepRecord((), "python -m dpbench"), "note")
    with pytest.raises(Refused, match="is a sweep, not a cell"):
        read_cell(store, parent)
