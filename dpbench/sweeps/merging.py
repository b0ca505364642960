"""Merge one store into another: two machines that swept apart have one record afterwards."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpbench.base.errors import Refused
from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import audit_tags, guarantee_of
from dpbench.report.summary import SweepSummary
from dpbench.sweeps.finishing import finish_sweep
from dpbench.sweeps.recording import unhindered
from dpbench.tracking.cell_index import RecordedCell, cell_index
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store
from dpbench.tracking.stored_cells import read_cells
from dpbench.tracking.sweep_files import read_sweep, sweeps

if TYPE_CHECKING:
    from mlflow.entities import Run


@dataclass(frozen=True)
class Merged:
    """What a merge copied, and how many cells the store had already."""

    sweeps: int
    cells: int
    present: int


def merge(source: Store, target: Store) -> Merged:
    """Copy the cells that the target lacks, and the sweeps that it has not finished itself, with new reports."""
    if (source.uri, source.experiment) == (target.uri, target.experiment):
        raise Refused("A store cannot be merged into itself: give the URI of another store.")
    with Writer(target) as writer:
        copying = _Copying(source, target, writer)
        count = sum(map(copying.sweep, _finished(source)))
        copying.single_cells()
        copying.refutations()
    return Merged(count, copying.count, len(copying.present))


class _Copying:
    def __init__(self, source: Store, target: Store, writer: Writer) -> None:
        self._source, self._target, self._writer = source, target, writer
        self._sweep_keys = {run.data.tags[names.SWEEP_KEY] for run in _finished(target)}
        self._newest: dict[str, RecordedCell] = {}
        for cell in cell_index(source).cells(None):  # the newest first
            self._newest.setdefault(cell.key, cell)
        self.present = set(cell_index(target).keys(self._newest))
        self._copied: dict[str, CellRecord] = {}

    @property
    def count(self) -> int:
        return len(self._copied)

    def sweep(self, run: "Run") -> bool:
        """Copy a sweep with its cells; return False if the target has finished the same sweep."""
        key = run.data.tags[names.SWEEP_KEY]
        if key in self._sweep_keys:
            return False
        sweep = read_sweep(self._source, run.info.run_id)
        with unhindered(self._target):
            parent = self._writer.open_sweep(key, run.info.run_name, sweep, f"`{sweep.command}`\n\nBeing merged.")
            cells = tuple(self._cell(cell, parent) for cell in sweep.cells)
            finish_sweep(self._writer, self._target, SweepSummary(replace(sweep, cells=cells, run_id=parent)))
        return True

    def single_cells(self) -> None:
        """Copy the cells that belong to no finished sweep."""
        missing = self._newest.keys() - self.present - self._copied.keys()
        for cell, record in read_cells(cell_index(self._source).cells(missing), self._source):
            if record is not None and cell.key not in self._copied:
                with unhindered(self._target):
                    self._copied[cell.key] = self._writer.write(record, None)

    def refutations(self) -> None:
        """Mark the cells that the target had before and that an audit refuted in the source."""
        tags = {key: self._newest[key].tags for key in self.present}
        refuted = {key: audit_tags(tags[key]) for key in tags if guarantee_of(tags[key]) == "refuted"}
        with unhindered(self._target):
            for key, record in self._writer.finished(refuted).items():
                self._writer.vouch(record, refuted[key])

    def _cell(self, cell: CellRecord, parent: str) -> CellRecord:
        """Return a cell of a sweep as the target has it."""
        if cell.state == "pruned":
            return cell
        if cell.key in self._copied:
            return replace(self._copied[cell.key], state="resumed")
        if cell.key in self.present and (recorded := self._writer.finished([cell.key])):
            return recorded[cell.key]
        newest = self._newest.get(cell.key)
        if cell.done and newest is not None and newest.run_id != cell.run_id:  # it ran again after this sweep
            cell = next((record for _, record in read_cells([newest], self._source) if record), cell)
        written = self._writer.write(cell, parent)
        if cell.done:
            self._copied[cell.key] = written
        return written


def _finished(store: Store) -> list["Run"]:
    """Return the sweeps that came to their end, the oldest first."""
    return [run for run in reversed(sweeps(store)) if run.info.status in ("FINISHED", "FAILED")]
