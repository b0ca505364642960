"""The benchmark of the papers' figures, without running them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
PAPERS = Path(__file__).parents[2] / "plugins" / "papers"


@pytest.fixture
def grids(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import grid_benchmarks

    return grid_benchmarks


def test_the_papers_print_nineteen_figures(grids) -> None:
    assert len(set(grids.FIGURES)) == 19
    for figure in grids.FIGURES:
        paper, preset = figure.split("/")
        assert (PAPERS / paper / "presets" / f"{preset}.yaml").is_file(), figure


def test_the_total_is_checked_if_all_figures_ran(grids, monkeypatch) -> None:
    monkeypatch.setattr(grids, "_run", lambda preset, folder: (76.0, 300.0))
    *each, total = grids.measure_grids()
    assert len(each) == 2 * 19
    assert all(measurement.ok for measurement in each)
    assert (total.value, total.limit, total.ok) == (19 * 76.0, 1440, False)


def test_a_single_figure_has_its_own_limits(grids, monkeypatch) -> None:
    monkeypatch.setattr(grids, "_run", lambda preset, folder: (361.0, 1201.0))
    seconds, memory = grids.measure_grids(["zhang2012/fig6"])
    assert (seconds.limit, seconds.ok) == (360, False)
    assert (memory.limit, memory.ok) == (1200, False)
    seconds, memory = grids.measure_grids(["park2016/fig1"])
    assert seconds.limit is None
    assert not memory.ok
