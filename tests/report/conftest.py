"""The helpers of the tests of reports, and a sweep with every kind of cell."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from cell_factory import make_sweep

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord

# tests are imported by their paths, so a module that they share is loaded under a name of its own
spec = importlib.util.spec_from_file_location("report_helpers", Path(__file__).with_name("report_helpers.py"))
assert spec is not None
assert spec.loader is not None
sys.modules["report_helpers"] = helpers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(helpers)


@pytest.fixture
def sweep() -> SweepRecord:
    """Two ranked cells at each of two ε; better ones that may not be ranked; a failed and a pruned one."""
    cell = helpers.person_cell
    cells = [
        cell(name, error + 0.1 / epsilon, epsilon) for epsilon in (0.5, 2.0) for name, error in (("good", 0.2), ("fair", 0.3))
    ]
    cells += [cell("open", 0.11, epsilon, ranked=False) for epsilon in (0.5, 2.0)]
    cells.append(cell("leaky", 0.12, 2.0, leaks={"bounds": "read; from the rows"}))
    cells.append(cell("claimed", 0.13, 2.0, sound=False))
    params = {**cells[0].params, "mechanism": helpers.HOSTILE}
    cells.append(CellRecord("failed", params, reason=f"it said {helpers.HOSTILE}"))
    cells.append(CellRecord("pruned", params, reason="it makes no sense"))
    return make_sweep(cells, helpers.COMMAND, run_id="abcdef")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures, which take long and have tests of their own."""
    monkeypatch.setattr("dpbench.report.figures.catalog.save_figures", lambda *_, **__: [])
