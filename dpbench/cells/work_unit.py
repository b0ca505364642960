"""What a work unit is, and what comes back from it: the only data that travels between the parent process and its workers."""

from dataclasses import dataclass, field, replace

import numpy as np

from dpbench.base.phases import PhaseSeconds
from dpbench.cells.cell import Cell, digest
from dpbench.cells.intervals import CellIntervals
from dpbench.data.streamed_sums import StreamedSums
from dpbench.privacy.ledger import Ledger


@dataclass(frozen=True)
class Unit:
    """Cells that share their rows, their model and their splits, on one block of repeats."""

    cells: tuple[Cell, ...]
    repeats: tuple[int, ...]
    sums: StreamedSums | None = field(default=None, repr=False, compare=False)
    """The sums of a streamed table, where workers have made them already."""

    @property
    def name(self) -> str:
        """The same for units that share sums over rows."""
        return f"{self.cells[0].shared[:8]}:{self.repeats[0]}"

    @property
    def digest(self) -> str:
        """What its results depend on."""
        return digest([[cell.key for cell in self.cells], self.repeats])

    @property
    def one_cell_each(self) -> list["Unit"]:
        return [replace(self, cells=(cell,)) for cell in self.cells]


@dataclass(frozen=True)
class BlockResult:
    """The result of one cell on one block of repeats: numbers per run and the ledger. It holds no row."""

    key: str
    """The cell's."""
    repeats: tuple[int, ...]
    runs: dict[str, np.ndarray] = field(default_factory=dict)
    """One value per run: ``repeat``, ``fold``, ``n_train``, ``status``, ``weights`` (runs, D) and every metric."""
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    """Metrics that are curves: (runs, points)."""
    health: dict[str, np.ndarray] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)
    coefficients: tuple[str, ...] = ()
    ledger: Ledger | None = None
    intervals: CellIntervals | None = None
    clipped: dict[str, float] = field(default_factory=dict)
    """The share of each feature's values outside its bounds, in the table of the first repeat."""
    fit_seconds: float | None = None
    seconds: float = 0.0
    """The time of the cell's own work."""
    check_seconds: float = 0.0
    """The time of checking its fit."""
    shared_seconds: float = 0.0
    """The time of what the cell was the first to need on this worker: loading and summing the rows, fitting the references."""
    phases: PhaseSeconds = ()
    """What the CPU seconds of the whole unit went to; the first result of a unit has them."""
    error: str = ""
    """Why the cell failed on this block."""
    traceback: str = ""
    """Where it failed: lines of code, and no values."""
    violation: str = ""
    """What refuted the mechanism's claim on this block: the checks of the fit itself, next to the audit."""
