"""Times of this machine are kept in a file that grows with what is new, and that other processes may write to."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.sweeps import recorded_times
from dpbench.sweeps.recorded_times import CHANGE, RecordedTimes, WorkKind, times_file

FM, DPME = WorkKind(("cell", "fm", "linear", "none"), "abc"), WorkKind(("cell", "dpme", "linear", "none"), "def")


def test_what_is_kept_is_read_by_the_next_process(tmp_path: Path) -> None:
    RecordedTimes(tmp_path / "times").keep(FM, 2.0)
    RecordedTimes(tmp_path / "times").keep(DPME, 3.0)
    assert RecordedTimes(tmp_path / "times").ratios == {FM: 2.0, DPME: 3.0}


def test_the_file_grows_only_with_what_has_changed(tmp_path: Path) -> None:
    times = RecordedTimes(tmp_path / "times")
    for ratio in (2.0, 2.0, 2.0 * (CHANGE - 0.01), 2.0 / (CHANGE - 0.01)):
        times.keep(FM, ratio)
    assert (tmp_path / "times").read_text().count("\n") == 1
    times.keep(FM, 2.0 * (CHANGE + 0.01))
    assert (tmp_path / "times").read_text().count("\n") == 2
    assert RecordedTimes(tmp_path / "times").ratios[FM] == pytest.approx(2.0 * (CHANGE + 0.01), rel=1e-2)


@pytest.mark.parametrize(
    "line", ["", "not json", '[["cell"], "abc"]', '[["cell"], "abc", -1]', '[["cell"], "abc", "x"]', "[1, 2, 3]"]
)
def test_a_line_that_makes_no_sense_is_skipped(tmp_path: Path, line: str) -> None:
    RecordedTimes(tmp_path / "times").keep(FM, 2.0)
    with (tmp_path / "times").open("a") as file:
        file.write(f"{line}\n")
    RecordedTimes(tmp_path / "times").keep(DPME, 3.0)
    assert RecordedTimes(tmp_path / "times").ratios == {FM: 2.0, DPME: 3.0}


def test_without_a_file_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    times = RecordedTimes()
    times.keep(FM, 2.0)
    assert not times.ratios
    assert not list(tmp_path.iterdir())


def test_other_priors_begin_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratios in it are to these priors."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path))
    before = times_file()
    monkeypatch.setattr(recorded_times, "priors_digest", lambda: "other")
    assert before.is_relative_to(tmp_path)
    assert times_file() != before
