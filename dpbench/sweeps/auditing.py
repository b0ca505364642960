"""The audits of a sweep: cells share one where they can, and an audit that was done before with the same code is not repeated.

The results are lines of a file next to a SQLite store, or in the user's cache folder if the store is elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbench.audit.result import AuditResult
from dpbench.cells.audit_unit import AuditUnit, vouched
from dpbench.cells.cell import Cell
from dpbench.cells.loading import identity
from dpbench.files.appending import append_line
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import AUDIT_TAGS, Standing, guarantee_of, guarantee_tags
from dpbench.registry.lookup import registry
from dpbench.sweeps.audit_file import read_results
from dpbench.sweeps.plan import SweepPlan


class Audits:
    """The audits that the cells of a plan need, and their results as far as they are known.

    A recorded cell needs one if it was never audited: then the audit vouches for its record, and nothing is fitted again.
    A cell that runs again without an audit stays refuted, for the reason that ``refuted`` has under its key.
    """

    def __init__(
        self,
        plan: SweepPlan,
        recorded: Mapping[str, CellRecord],
        file: Path | None = None,
        refuted: Mapping[str, str] | None = None,
    ) -> None:
        self._file, self._refuted = file, refuted or {}
        claimed = {key for key, record in recorded.items() if guarantee_of(record.tags) == "claimed"}
        audited = [planned for planned in plan.cells if planned.state == "run" or planned.cell.key in claimed]
        self._bounds_doubts = {planned.cell.key: planned.provenance.bounds_doubt for planned in audited}
        self._of_cell: dict[str, AuditUnit] = {}
        for planned in audited:
            cell = planned.cell
            if cell.audit.level != "none":
                table = plan.tables[cell.shared]
                self._of_cell[cell.key] = AuditUnit(cell, table.geometry, table.train_rows, _identity_of(cell), planned.fit_code)
        self._results = read_results(file) if self._of_cell else {}

    @property
    def units(self) -> list[AuditUnit]:
        """The audits that are to be done: one for all cells that it vouches for."""
        missing = {unit.digest: unit for unit in self._of_cell.values() if unit.digest not in self._results}
        return list(missing.values())

    def waits(self, cell: Cell) -> bool:
        """Return whether the cell's audit is not done yet."""
        return cell.key in self._of_cell and self.result(cell) is None

    def result(self, cell: Cell) -> AuditResult | None:
        """Return the result of the cell's audit; None if it needs none, or if it is not done yet."""
        unit = self._of_cell.get(cell.key)
        if unit is None and cell.key in self._refuted:
            return AuditResult(False, 0, (self._refuted[cell.key],))
        return self._results.get(unit.digest) if unit else None

    def done(self, unit: AuditUnit, result: AuditResult, *, keep: bool = True) -> None:
        """Take the result of an audit, and write it to the file unless another attempt could end otherwise."""
        self._results[unit.digest] = result
        if self._file is not None and keep:
            names = tuple(cls.name for cls in _mechanisms_of(unit.cell))
            line = replace(result, mechanisms=names, model=unit.cell.model.name, code=unit.code).as_line(unit.digest)
            append_line(self._file, line)

    def change(self, records: Iterable[CellRecord]) -> bool:
        """Return whether an audit says, or may say when it is done, something new about a recorded cell."""
        waiting = {unit.digest for unit in self.units}
        audited = [(record, self._of_cell[record.key]) for record in records if record.key in self._of_cell]
        return any(
            unit.digest in waiting or self.new_tags(record) != {key: record.tags[key] for key in AUDIT_TAGS if key in record.tags}
            for record, unit in audited
        )

    def new_tags(self, record: CellRecord) -> dict[str, str]:
        """Return the tags of a recorded cell that its audit decides; none if it has no audit here, or if no audit decides them.

        A cell of this plan that another process recorded has its audit here, but may say that it is not private.
        """
        unit = self._of_cell.get(record.key)
        if unit is None or guarantee_of(record.tags) != "claimed":
            return {}
        standing = Standing("", proven=True, private=True, bounds_doubt=self._bounds_doubts[record.key])
        standing = vouched(standing, self._results.get(unit.digest), unit.n)
        return guarantee_tags(standing)


def _identity_of(cell: Cell) -> str:
    return identity(cell.build("dataset"))


def _mechanisms_of(cell: Cell) -> list[type[Any]]:
    return registry().mechanisms_behind(cell.mechanism.name, cell.mechanism.options)
