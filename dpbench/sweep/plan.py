"""The plan of a sweep: which cells run, which are pruned and why, which are recorded already, and in which units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from dpbench import __version__
from dpbench.bench.cell import Cell, Choice, Settings, digest
from dpbench.bench.sources import source_of
from dpbench.bench.unit import Unit
from dpbench.component import Component, source_digest
from dpbench.data.geometry import Geometry
from dpbench.data.splits import Splits
from dpbench.errors import Refused
from dpbench.registry import registry
from dpbench.sweep.grid import Point

State = Literal["run", "resumed", "pruned"]

QUICK_REPEATS = 3
BLOCK_ROWS = 4_000_000
"""Rows that one block of repeats passes over: small tables go in one block, large ones in several that run side by side."""
UNIT_CELLS = 8
"""Cells of a unit where sums are cheap, so that results come back while others run."""


@dataclass(frozen=True)
class Planned:
    """One cell of the grid: run, resumed from the store, or pruned for a reason."""

    params: Mapping[str, str]
    state: State
    cell: Cell | None = None
    tags: Mapping[str, str] | None = None
    primary: str = ""
    reason: str = ""


@dataclass(frozen=True)
class _Facts:
    """What planning needs to know about a table that was loaded once."""

    geometry: Geometry
    rows: int


@dataclass(frozen=True)
class Plan:
    """Every cell with its state, in the order of the command."""

    cells: tuple[Planned, ...]
    rows: Mapping[str, int]
    """The rows of each table, by what the cells on it share."""

    @property
    def to_run(self) -> list[Planned]:
        return [planned for planned in self.cells if planned.state == "run"]

    @property
    def key(self) -> str:
        """The same for the same set of cells."""
        return digest(sorted(planned.cell.key for planned in self.cells if planned.cell is not None))

    def resumed(self, finished: Mapping[str, Any]) -> Plan:
        """The plan with the cells that are recorded already marked so."""
        cells = tuple(
            replace(planned, state="resumed") if planned.cell is not None and planned.cell.key in finished else planned
            for planned in self.cells
        )
        return replace(self, cells=cells)

    @property
    def seconds(self) -> float:
        """What running it takes on one core, roughly: 50 ns a row and repeat of each table, 3 ms and 30 µs a run of each cell."""
        cells = [planned.cell for planned in self.to_run if planned.cell is not None]
        passes = sum(self.rows[cell.shared] * cell.splits.repeats for cell in {cell.shared: cell for cell in cells}.values())
        return 5e-8 * passes + sum(0.003 + 3e-5 * cell.splits.runs for cell in cells)

    def units(self) -> list[Unit]:
        """The cells that run, grouped by what they share and cut into blocks of repeats."""
        groups: dict[str, list[Cell]] = defaultdict(list)
        for planned in self.to_run:
            assert planned.cell is not None
            groups[planned.cell.shared].append(planned.cell)
        units = []
        for cells in groups.values():
            repeats = cells[0].splits.repeats
            size = max(1, min(repeats, BLOCK_ROWS // self.rows[cells[0].shared]))
            heavy = size < repeats
            step = len(cells) if heavy else UNIT_CELLS
            for start in range(0, repeats, size):
                block = tuple(range(start, min(start + size, repeats)))
                units += [Unit(tuple(cells[at : at + step]), block) for at in range(0, len(cells), step)]
        return units


def plan(points: Sequence[Point]) -> Plan:
    """Check every configuration; what makes no sense together is pruned with a sentence, what is wrong is refused.

    Every table is loaded once, so that a wrong file is refused before anything is written.
    """
    swept = list(dict.fromkeys(axis for point in points for axis in point.axes))
    tables: dict[str, _Facts] = {}
    planned: dict[str, Planned] = {}
    for point in points:
        one = _planned(point, swept, tables)
        planned.setdefault(one.cell.key if one.cell is not None else repr(sorted(one.params.items())), one)
    cells = tuple(planned.values())
    return Plan(cells, {name: facts.rows for name, facts in tables.items()})


def _planned(point: Point, swept: Sequence[str], tables: dict[str, _Facts]) -> Planned:
    config = point.config
    built: dict[str, Any] = {kind: _component(kind, config[kind]) for kind in ("mechanism", "model", "dataset", "attack")}
    splits = _splits(config["splits"], bool(config["quick"]))
    settings = Settings(**{item.name: config[item.name] for item in fields(Settings)})
    choices = {kind: Choice(component.name, _jsonable(component.options())) for kind, component in built.items()}
    params = {
        **{kind: component.name for kind, component in built.items()},
        "epsilon": f"{settings.epsilon:g}",
        "delta": f"{settings.delta:g}",
        "splits": splits.describe(),
        **{
            key: str(point.axes[key]) for key in swept if key in point.axes and ("." in key or key in ("seed", "budget", "noise"))
        },
    }
    mechanism, model, dataset, attack = built.values()
    versions = {
        kind: f"{registry().version_of(type(component))} {source_digest(type(component))}" for kind, component in built.items()
    }
    versions |= {"dpbench": __version__, "data": dataset.fingerprint()}
    cell = Cell(choices["mechanism"], choices["model"], choices["dataset"], choices["attack"], splits, settings, versions)
    if cell.shared not in tables:
        source = source_of(cell)
        source.labels(0)
        rows = source.scaled(0).rows
        tables[cell.shared] = _Facts(rows.geometry, rows.n)
    geometry = tables[cell.shared].geometry
    reason = mechanism.unsupported(model, geometry) or attack.unsupported(model, geometry)
    if reason:
        return Planned(params, "pruned", reason=reason)
    tags = {
        "dpbench.synthetic": str(dataset.synthetic).lower(),
        "dpbench.version": __version__,
        "dpbench.plugin_version": registry().version_of(type(mechanism)),
    }
    return Planned(params, "run", cell, tags, model.primary)


def _component(kind: str, config: Mapping[str, Any]) -> Component:
    component: Component = (
        registry().get(kind, config["name"]).build({key: value for key, value in config.items() if key != "name"})
    )
    return component


def _splits(config: Mapping[str, Any], quick: bool) -> Splits:
    splits = Splits(**config)
    return replace(splits, repeats=min(splits.repeats, QUICK_REPEATS)) if quick else splits


def _jsonable(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}


def refuse_pruned(plan: Plan) -> None:
    """A single run that makes no sense is refused; in a sweep it is pruned."""
    for planned in plan.cells:
        if planned.state == "pruned":
            raise Refused(planned.reason)
