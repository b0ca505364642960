"""Record the cells of a sweep as they finish, and share the work with other sweeps on the same store."""

import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from dpbench.base.errors import Unfinished
from dpbench.base.interruption import interruptions_held
from dpbench.cells.work_unit import Unit
from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import plural
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.engines.loop import Engine
from dpbench.sweeps.plan import SweepPlan
from dpbench.sweeps.running import Item, run_cells
from dpbench.tracking.cell_index import cell_index
from dpbench.tracking.claims import Claims
from dpbench.tracking.patience import StoreLost
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store
from dpbench.tracking.undelivered import keep, undelivered

POLL_SECONDS = 1.0
"""How often a sweep looks whether another one has recorded the cells that both need."""


class Recording:
    """The cells of a plan on their way into a store: those that this process runs, and those that another one does."""

    def __init__(self, store: Store, writer: Writer, claims: Claims, parent: str | None) -> None:
        self._store, self._writer, self._claims, self._parent = store, writer, claims, parent
        self.finished: dict[str, CellRecord] = {}
        """The records of the cells that this process ran, by key."""
        self._begun: set[str] = set()
        """The keys of the cells that this process claimed and runs. Cells that run again are not claimed."""
        self._kept: Path | None = None
        """Where finished cells wait that the store could not take."""

    def run(
        self, plan: SweepPlan, engine: Engine, audits: Audits, *, again: bool = False, fail_fast: bool = False
    ) -> dict[str, CellRecord]:
        """Run every cell that no other process runs, wait for the others, and return the records of those by key.

        With ``again`` every cell runs here, whatever is recorded of it.
        """
        if again:
            run_cells(plan, engine, self._keep, audits, fail_fast=fail_fast)
            return {}
        elsewhere: dict[str, CellRecord] = {}
        waiting = plan
        while True:
            decided = {} if self._claims.exclusive else self._decided({planned.cell.key for planned in waiting.to_run})
            claimed = partial(self._claimed, decided=decided)
            run_cells(waiting, engine, self._keep, audits, claimed=claimed, fail_fast=fail_fast)
            waiting = _without(waiting, self._begun)
            elsewhere |= self._recorded_elsewhere(waiting)
            waiting = _without(waiting, elsewhere)
            if not waiting.to_run:
                return elsewhere
            self._wait(waiting)

    def deliver_kept(self) -> None:
        """Write the cells that are kept in a folder, of this sweep or of an earlier one, unless another process does."""
        for cell in undelivered(self._store):
            key = cell.record.key
            if key in self._claims.take([key]):
                if not cell_index(self._store).keys([key]):
                    record = self._writer.write(cell.record, cell.sweep or None)
                    self.finished |= {key: record} if key in self.finished else {}
                cell.remove()
                self._claims.release([key])

    def close(self) -> None:
        """Deliver what the store could not take before, and mark cells that another sweep recorded at the same time."""
        if self._kept is not None:
            try:
                self.deliver_kept()
            except StoreLost as lost:
                raise Unfinished(f"{lost} {self.whereabouts}") from lost
        if not self._claims.exclusive:
            # a cell that ran again was recorded before on purpose: the new record replaces the old one
            self._writer.mark_duplicates(record for key, record in self.finished.items() if key in self._begun)

    @property
    def whereabouts(self) -> str:
        """Where the finished cells are, in a sentence."""
        if self._kept is not None:
            return f"Finished cells are kept in {self._kept}, and the same command delivers them."
        return f"Finished cells stay recorded in {self._store.shown}."

    def _keep(self, record: CellRecord) -> None:
        with unhindered(self._store):
            try:
                self.finished[record.key] = self._writer.write(record, self._parent)
            except StoreLost as lost:
                self.finished[record.key] = record
                try:
                    self._kept = keep(record, self._parent, self._store)
                except OSError as error:
                    raise Unfinished(f"{lost} Nor can finished cells be kept elsewhere: {error.strerror}.") from error
            self._claims.release([record.key])

    def _claimed(self, items: Iterable[Item], decided: dict[str, bool]) -> Iterator[Item]:
        """Yield the units with those of their cells that are this process's to run; each cell is decided once.

        Where claims are lists, which take several requests each, all cells are decided beforehand.
        """
        for item in items:
            if not isinstance(item, Unit):
                yield item
                continue
            decided |= self._decided({cell.key for cell in item.cells} - decided.keys())
            cells = tuple(cell for cell in item.cells if decided[cell.key])
            self._begun.update(cell.key for cell in cells)
            if cells:
                yield replace(item, cells=cells)

    def _decided(self, keys: Collection[str]) -> dict[str, bool]:
        """Return of each cell whether it is to run here: nobody else has claimed it, or recorded it meanwhile."""
        try:
            mine = self._claims.take(keys)
            recorded = cell_index(self._store).keys(mine) if mine else set()
        except StoreLost:  # what is done twice is lost time; what is not done at all is a lost night
            return dict.fromkeys(keys, True)
        self._claims.release(recorded)
        return {key: key in mine - recorded for key in keys}

    def _recorded_elsewhere(self, plan: SweepPlan) -> dict[str, CellRecord]:
        keys = [planned.cell.key for planned in plan.to_run]
        return self._writer.finished(keys) if keys else {}

    def _wait(self, plan: SweepPlan) -> None:
        print(f"Another process runs {plural(len(plan.to_run), 'cell')} of this sweep: waiting for it.", file=sys.stderr)
        keys = [planned.cell.key for planned in plan.to_run]
        while not self._claims.take(keys) and not cell_index(self._store).keys(keys):
            time.sleep(POLL_SECONDS)


@contextmanager
def unhindered(store: Store) -> Iterator[None]:
    """Finish a write before Ctrl-C ends the sweep: cut in the middle, a write would leave the store locked.

    If the store is lost, the sweep ends with a sentence; recorded cells stay, and do not run again.
    """
    from mlflow.exceptions import MlflowException

    with interruptions_held():
        try:
            yield
        except MlflowException as error:
            reason = str(error).partition("\n")[0]
            raise Unfinished(f"The tracking store {store.shown!r} could not be written any more: {reason}") from error


def _without(plan: SweepPlan, done: Collection[str]) -> SweepPlan:
    return replace(plan, cells=tuple(planned for planned in plan.cells if planned.cell.key not in done))
