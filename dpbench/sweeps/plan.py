"""Plan a sweep: which cells run, which are pruned and why, which are recorded already, and how they form work units."""

from __future__ import annotations

import platform
import traceback
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from dpbench.base.errors import Inapplicable, Refused
from dpbench.cells.cell import Cell, digest
from dpbench.cells.code_versions import fit_code
from dpbench.cells.loading import rows_of
from dpbench.cells.work_unit import Unit
from dpbench.contracts.dataset import RESAMPLED
from dpbench.data.geometry import Geometry
from dpbench.data.table import WrongTable
from dpbench.files.digest_key import key_id
from dpbench.records.cell_tags import Provenance
from dpbench.registry.lookup import registry
from dpbench.sweeps.cost_priors import TableSize
from dpbench.sweeps.feasibility import check_memory, check_sums, sums_bytes
from dpbench.sweeps.grid import GridPoint
from dpbench.sweeps.grid_notes import budget_notes
from dpbench.sweeps.resolution import PartMemo, ResolvedPoint, resolve
from dpbench.sweeps.streamed_tables import needs_rows

State = Literal["run", "resumed", "pruned"]

BLOCK_ROWS = 4_000_000
"""Rows that one block of repeats passes over: a small table is one block, a large one several that run at the same time."""
BLOCK_BYTES = 500_000_000
"""The memory of the sums of products of one block of repeats: a wide table has several blocks, too."""
ROWS_OF_STREAMED_FITS = 10_000
"""Rows of a table in memory on which a fit takes about as long as on a streamed one."""


@dataclass(frozen=True)
class PlannedCell:
    """A cell of the grid, and whether it runs, is resumed from the store, or is pruned for a reason."""

    params: Mapping[str, str]
    state: State
    cell: Cell
    provenance: Provenance
    primary: str
    reason: str = ""
    fit_code: str = ""
    """The digest of the code that the cell's fit runs, if it is to be audited: only an audit of this code vouches for it."""

    @property
    def identity(self) -> str:
        """What two equal cells of a plan have in common. Pruned cells have no results to share, so their names suffice."""
        return repr(sorted(self.params.items())) if self.state == "pruned" else self.cell.key


@dataclass(frozen=True)
class TableFacts:
    """What planning needs to know about a table as one model sees it."""

    geometry: Geometry
    rows: int
    train_rows: int
    """The training rows of a run."""
    dropped: int
    beyond_limit: int
    streamed: bool = False
    """Whether the rows are read again at every pass over them."""
    bounds_doubt: str = ""

    @property
    def size(self) -> TableSize:
        return TableSize(self.rows, self.geometry.dimension)

    @property
    def size_of_fits(self) -> TableSize:
        """The size that a fit's time depends on: a fit to sums takes no longer for more rows."""
        return TableSize(min(self.rows, ROWS_OF_STREAMED_FITS), self.geometry.dimension) if self.streamed else self.size


@dataclass(frozen=True)
class SweepPlan:
    """Every cell with its state, in the order of the command."""

    cells: tuple[PlannedCell, ...]
    tables: Mapping[str, TableFacts]
    """By what the cells on a table share (:attr:`Cell.shared`)."""
    notes: tuple[str, ...] = ()
    """How the cells differ from what was typed (:attr:`GridPoint.notes`)."""

    @property
    def to_run(self) -> list[PlannedCell]:
        return [planned for planned in self.cells if planned.state == "run"]

    @property
    def key(self) -> str:
        """The same for the same set of cells, pruned ones included."""
        return digest(sorted(planned.identity for planned in self.cells))

    def resumed(self, recorded: Collection[str]) -> SweepPlan:
        """Return the plan in which the cells with these keys are resumed."""
        cells = (
            replace(planned, state="resumed") if planned.state == "run" and planned.cell.key in recorded else planned
            for planned in self.cells
        )
        return replace(self, cells=tuple(cells))

    def block_size(self, cell: Cell) -> int:
        """Return how many repeats of a cell make a block: as many as its rows and sums allow, and all blocks nearly equal."""
        table, repeats = self.tables[cell.shared], cell.splits.repeats
        by_memory = BLOCK_BYTES // sums_bytes(table.geometry.features, cell.splits)
        # one pass over a streamed table serves all repeats
        blocks = 1 if table.streamed else -(-repeats // max(1, min(BLOCK_ROWS // table.rows, by_memory)))
        return -(-repeats // blocks)  # of equal size, so that no worker waits long for the last one

    def units(self) -> list[Unit]:
        """Return the cells that run, grouped by what they share, in blocks of repeats that depend on the table alone."""
        groups: dict[str, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
        for planned in self.to_run:
            groups[planned.cell.shared][planned.cell.fit].append(planned.cell)
        units = []
        for by_fit in groups.values():
            # cells that differ only by the attack are next to each other: the runner caches the last fit
            cells = tuple(cell for same_fit in by_fit.values() for cell in same_fit)
            repeats = cells[0].splits.repeats
            block_size = self.block_size(cells[0])
            for start in range(0, repeats, block_size):
                units.append(Unit(cells, tuple(range(start, min(start + block_size, repeats)))))
        return units


def plan(points: Sequence[GridPoint]) -> SweepPlan:
    """Check every configuration: wrong values are refused, combinations that make no sense are pruned with a reason.

    Every table is loaded once, so that a wrong file is refused before anything is written.
    """
    swept = list(dict.fromkeys(axis for point in points for axis in point.axes))
    memo = PartMemo()
    planned = plan_cells(resolve(point, swept, memo) for point in points)
    notes = dict.fromkeys(note for point in points for note in point.notes)
    mechanisms = (point.config["mechanism"]["name"] for point in points)
    return replace(planned, notes=(*notes, *budget_notes(mechanisms, (cell.params for cell in planned.cells), swept)))


def plan_cells(points: Iterable[ResolvedPoint]) -> SweepPlan:
    """Plan cells whose configurations are valid."""
    tables: dict[str, TableFacts | Inapplicable] = {}
    cells: dict[str, PlannedCell] = {}
    for resolved in points:
        shared = resolved.cell.shared
        check_memory(resolved.components["dataset"], resolved.cell.splits)
        if shared not in tables:
            try:
                tables[shared] = facts = _table_facts(resolved.cell)
                check_sums(facts.geometry.features, resolved.cell.splits)
            except Inapplicable as reason:
                tables[shared] = reason
        planned = _planned(resolved, tables[shared])
        cells.setdefault(planned.identity, planned)
    loaded = {key: table for key, table in tables.items() if isinstance(table, TableFacts)}
    return SweepPlan(tuple(cells.values()), loaded)


def _planned(point: ResolvedPoint, table: TableFacts | Inapplicable) -> PlannedCell:
    mechanism, model, dataset, attack = (point.components[kind] for kind in ("mechanism", "model", "dataset", "attack"))
    if isinstance(table, Inapplicable):
        reason, dropped, remarks, target = str(table), 0, "", None
    else:
        reason = mechanism.unsupported(model, table.geometry) or attack.unsupported(model, table.geometry) or ""
        if not reason and dataset.resample and not attack.attacks_nothing:
            reason = (
                f"The attack {attack.name} does not run with dataset.resample=true: a training row may be a test row as well."
            )
        if not reason and table.streamed:
            reason = needs_rows(mechanism, model, attack)
        about_attack = () if reason else attack.remarks(table.geometry)
        dropped, remarks = table.dropped, " ".join(filter(None, [dataset.remark, RESAMPLED * dataset.resample, *about_attack]))
        target = table.geometry.target_column
    plugin = registry().version_of(type(mechanism))
    key = "" if dataset.public else key_id()
    provenance = Provenance(
        *(dataset.synthetic, dropped, plugin, *_machine(), point.sensitivity, remarks, key),
        target_unit=target.unit if target else "",
        target_transform=target.transform.name if target and target.transform else "",
        rows_beyond_limit=0 if isinstance(table, Inapplicable) else table.beyond_limit,
        bounds_doubt="" if isinstance(table, Inapplicable) else table.bounds_doubt,
        licence=dataset.licence,
        citation=dataset.citation,
    )
    code = "" if reason or point.cell.audit.level == "none" else fit_code(point.cell)
    return PlannedCell(point.params, "pruned" if reason else "run", point.cell, provenance, model.primary, reason, code)


def _table_facts(cell: Cell) -> TableFacts:
    """Load and split a cell's table. What a dataset's own code raises becomes a sentence without the values it may quote."""
    name = cell.dataset.name
    try:
        source = rows_of(cell)
        if not source.streamed:
            source.labels(0)
        if cell.splits.by == "blocks":  # the parts of each repeat have other sizes, and one could be empty
            for repeat in range(cell.splits.repeats):
                source.part_sizes(0 if source.dataset.redrawn() else repeat)
    except WrongTable as error:
        raise Refused(f"The dataset {name} cannot be loaded: {error}") from None
    except Refused:
        raise
    except OSError as error:
        raise Refused(f"The dataset {name} cannot be read: {error.strerror or error} ({error.filename}).") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        raise Refused(f"The dataset {name} cannot be loaded: {type(error).__name__} in {last.name} ({where}).") from error
    facts = source.facts(0)
    train_rows = int(source.part_sizes()[1:].sum())
    counts = facts.rows, train_rows, facts.dropped, facts.beyond_limit
    return TableFacts(facts.geometry, *counts, source.streamed, facts.bounds_doubt)


@cache
def _machine() -> tuple[str, str]:
    """Return the version of NumPy, and the machine with its BLAS kernels: the last bits of a result depend on both."""
    import numpy
    from threadpoolctl import threadpool_info

    kernels = sorted({str(info.get("architecture", "")) for info in threadpool_info() if info.get("user_api") == "blas"} - {""})
    return numpy.__version__, " ".join([platform.machine(), *kernels])


def refuse_pruned(plan: SweepPlan) -> None:
    """Refuse a cell that makes no sense: alone it is a mistake, in a sweep it is pruned."""
    for planned in plan.cells:
        if planned.state == "pruned":
            raise Refused(planned.reason)
