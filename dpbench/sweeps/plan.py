"""The plan of a sweep: which cells run, which are pruned and why, which are recorded already, and in which units."""

from __future__ import annotations

import platform
import traceback
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from dpbench.audit.settings import AuditSettings
from dpbench.base.errors import Refused
from dpbench.base.version import __version__
from dpbench.cells.cell import Cell, ComponentChoice, Settings, digest
from dpbench.cells.loading import DatasetRows, rows_of
from dpbench.cells.work_unit import Unit
from dpbench.contracts.component import Component
from dpbench.data.geometry import Geometry
from dpbench.data.splits import Splits
from dpbench.records.cell_tags import Provenance
from dpbench.registry.code_digest import source_digest
from dpbench.registry.lookup import registry
from dpbench.sweeps.grid import GridPoint

State = Literal["run", "resumed", "pruned"]

SETTINGS = ("seed", "budget", "accounting", "noise")
"""Keys without a dot that are parameters of a run where they are swept; ε and δ always are."""
QUICK_REPEATS = 2
BLOCK_ROWS = 4_000_000
"""Rows that one block of repeats passes over: small tables go in one block, large ones in several that run side by side."""
UNIT_CELLS = 8
"""Cells of a unit where sums are cheap, so that results come back while others run."""


@dataclass(frozen=True)
class PlannedCell:
    """One cell of the grid: run, resumed from the store, or pruned for a reason."""

    params: Mapping[str, str]
    state: State
    cell: Cell | None = None
    provenance: Provenance | None = None
    primary: str = ""
    reason: str = ""


@dataclass(frozen=True)
class _Facts:
    """What planning needs to know about a table that was loaded once."""

    geometry: Geometry
    rows: int
    dropped: int
    by_rows: bool


@dataclass(frozen=True)
class SweepPlan:
    """Every cell with its state, in the order of the command."""

    cells: tuple[PlannedCell, ...]
    rows: Mapping[str, int]
    """The rows of each table, by what the cells on it share."""
    by_rows: frozenset[str] = frozenset()
    """Those of them whose model passes over a run's rows for every fit and score, where moments would do for a quadratic loss."""

    @property
    def to_run(self) -> list[PlannedCell]:
        return [planned for planned in self.cells if planned.state == "run"]

    @property
    def key(self) -> str:
        """The same for the same set of cells, those that were pruned included."""
        return digest(sorted(one.cell.key if one.cell is not None else repr(sorted(one.params.items())) for one in self.cells))

    def resumed(self, finished: Mapping[str, Any]) -> SweepPlan:
        """The plan with the cells that are recorded already marked so."""
        cells = tuple(
            replace(planned, state="resumed") if planned.cell is not None and planned.cell.key in finished else planned
            for planned in self.cells
        )
        return replace(self, cells=cells)

    @property
    def seconds(self) -> float:
        """What running it takes on one core, roughly: 50 ns a row and repeat of each table, 3 ms and 30 µs a run of each cell.

        Where every run passes over its rows, 450 ns a row and run of each table, and 25 ns of each cell.
        """
        cells = [planned.cell for planned in self.to_run if planned.cell is not None]
        tables = {cell.shared: cell for cell in cells}.values()
        passes = sum(self.rows[cell.shared] * cell.splits.repeats for cell in tables)
        fitted, scored = (
            sum(self.rows[cell.shared] * cell.splits.runs for cell in some if cell.shared in self.by_rows)
            for some in (tables, cells)
        )
        return 5e-8 * passes + 4.5e-7 * fitted + 2.5e-8 * scored + sum(0.003 + 3e-5 * cell.splits.runs for cell in cells)

    def units(self) -> list[Unit]:
        """The cells that run, grouped by what they share and cut into blocks of repeats."""
        groups: dict[str, list[Cell]] = defaultdict(list)
        for planned in self.to_run:
            assert planned.cell is not None
            groups[planned.cell.shared].append(planned.cell)
        units = []
        for cells in map(_fits_together, groups.values()):
            repeats = cells[0].splits.repeats
            size = max(1, min(repeats, BLOCK_ROWS // self.rows[cells[0].shared]))
            heavy = size < repeats
            step = len(cells) if heavy else UNIT_CELLS
            for start in range(0, repeats, size):
                block = tuple(range(start, min(start + size, repeats)))
                units += [Unit(tuple(cells[at : at + step]), block) for at in range(0, len(cells), step)]
        return units


def _fits_together(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that differ by the attack only stand side by side, where the first was, so that they share their fit."""
    fits: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        fits[cell.fit].append(cell)
    return [cell for same in fits.values() for cell in same]


def plan(points: Sequence[GridPoint]) -> SweepPlan:
    """Check every configuration; what makes no sense together is pruned with a sentence, what is wrong is refused.

    Every table is loaded once, so that a wrong file is refused before anything is written.
    """
    swept = list(dict.fromkeys(axis for point in points for axis in point.axes))
    tables: dict[str, _Facts] = {}
    planned: dict[str, PlannedCell] = {}
    for point in points:
        one = _planned(point, swept, tables)
        planned.setdefault(one.cell.key if one.cell is not None else repr(sorted(one.params.items())), one)
    cells = tuple(planned.values())
    by_rows = frozenset(name for name, facts in tables.items() if facts.by_rows)
    return SweepPlan(cells, {name: facts.rows for name, facts in tables.items()}, by_rows)


def _planned(point: GridPoint, swept: Sequence[str], tables: dict[str, _Facts]) -> PlannedCell:
    config = point.config
    built: dict[str, Any] = {kind: _component(kind, config[kind]) for kind in ("mechanism", "model", "dataset", "attack")}
    splits = _splits(config["splits"], config["quick"])
    settings = Settings(**{item.name: config[item.name] for item in fields(Settings)})
    choices = {kind: ComponentChoice(component.name, _jsonable(component.options())) for kind, component in built.items()}
    params = {
        **{kind: component.name for kind, component in built.items()},
        "epsilon": _number(settings.epsilon),
        "delta": _number(settings.delta),
        "splits": splits.describe(),
        **{key: str(point.axes[key]) for key in swept if key in point.axes and ("." in key or key in SETTINGS)},
    }
    mechanism, model, dataset, attack = built.values()
    versions = {
        kind: f"{registry().version_of(type(component))} {source_digest(type(component))}" for kind, component in built.items()
    }
    metrics = [f"{metric.name} {source_digest(metric.function)}" for metric in registry().metrics_of(model)]
    versions |= {"dpbench": __version__, "data": dataset.fingerprint(), "metrics": digest(metrics)}
    audit = AuditSettings(**config["audit"], seed=settings.seed)
    cell = Cell(choices["mechanism"], choices["model"], choices["dataset"], choices["attack"], splits, settings, versions, audit)
    if cell.shared not in tables:
        source = rows_of(cell)
        _load(source, dataset.name)
        scaled = source.scaled(0)
        quadratic = "polynomial" in model.provides and "truncation" not in model.provides
        tables[cell.shared] = _Facts(scaled.rows.geometry, scaled.rows.n, scaled.dropped, not quadratic)
    facts = tables[cell.shared]
    geometry = facts.geometry
    reason = mechanism.unsupported(model, geometry) or attack.unsupported(model, geometry)
    if reason:
        return PlannedCell(params, "pruned", reason=reason)
    provenance = Provenance(dataset.synthetic, facts.dropped, registry().version_of(type(mechanism)), *_machine())
    return PlannedCell(params, "run", cell, provenance, model.primary)


@cache
def _machine() -> tuple[str, str]:
    """Return the version of NumPy, and the machine with its BLAS kernels: the last bits of a result depend on both."""
    import numpy
    from threadpoolctl import threadpool_info

    kernels = sorted({str(info.get("architecture", "")) for info in threadpool_info() if info.get("user_api") == "blas"} - {""})
    return numpy.__version__, " ".join([platform.machine(), *kernels])


def _load(source: DatasetRows, name: str) -> None:
    """Load a table and split it; what a dataset's own code raises becomes a sentence, without the values it may quote."""
    try:
        source.labels(0)
    except Refused:
        raise
    except OSError as error:
        raise Refused(f"The dataset {name} cannot be read: {error.strerror or error} ({error.filename}).") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        raise Refused(f"The dataset {name} cannot be loaded: {type(error).__name__} in {last.name} ({where}).") from error


def _component(kind: str, config: Mapping[str, Any]) -> Component:
    component: Component = (
        registry().get(kind, config["name"]).build({key: value for key, value in config.items() if key != "name"})
    )
    return component


def _splits(config: Mapping[str, Any], quick: Any) -> Splits:
    if not isinstance(quick, bool):
        raise Refused(f"The key 'quick' must be true or false. Got {quick!r} instead.")
    splits = Splits(**config)
    return replace(splits, repeats=min(splits.repeats, QUICK_REPEATS)) if quick else splits


def _number(value: float) -> str:
    """The shortest text that is this number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}


def refuse_pruned(plan: SweepPlan) -> None:
    """A single run that makes no sense is refused; in a sweep it is pruned."""
    for planned in plan.cells:
        if planned.state == "pruned":
            raise Refused(planned.reason)
