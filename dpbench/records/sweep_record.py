"""Hold the record of a sweep: its cells, its request, and the preset if there was one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dpbench.records.cell_record import CellRecord
from dpbench.records.metric_info import MetricInfo
from dpbench.records.preset import Preset

KEYS_OF_EXECUTION = ("experiment", "quick", "tracking", "engine", "rerun", "fail_fast", "hydra")
"""Keys that say where and how a sweep runs. Overriding them does not change what a preset runs."""


@dataclass(frozen=True)
class SweepRecord:
    """Everything that a report is made from."""

    cells: tuple[CellRecord, ...]
    command: str
    """The command as it can be typed again."""
    overrides: tuple[str, ...] = ()
    """The overrides of the command, one ``key=value`` each, without flags."""
    preset: Preset | None = None
    quick: bool = False
    """Whether ``quick=true`` reduced the repeats: a first look, not evidence."""
    option_help: Mapping[str, str] = field(default_factory=dict)
    """The help text of every option that the sweep varied, by its key: figures label their axes with it."""
    metric_info: Mapping[str, MetricInfo] = field(default_factory=dict)
    """Label, meaning, direction and unit of the metrics of its models and attacks, by full name."""
    run_id: str = ""
    """The parent run, if the sweep is recorded."""
    notes: tuple[str, ...] = ()
    """How the cells differ from what was typed: options of a preset that were left out, and options that were added."""
    releases: Mapping[str, str] = field(default_factory=dict)
    """The command that releases the cell that a reader would pick, one for each problem, by the cell's key."""

    @property
    def done(self) -> list[CellRecord]:
        return [cell for cell in self.cells if cell.done]

    @property
    def changed(self) -> list[str]:
        """The overrides that replace values of the preset: with any of them the sweep is not the paper's figure."""
        if self.preset is None:
            return []
        return [text for text in self.overrides if text.partition("=")[0].partition(".")[0].lstrip("+~") not in KEYS_OF_EXECUTION]

    @property
    def synthetic(self) -> bool:
        """Whether any of its data was drawn and not collected."""
        return any(cell.synthetic for cell in self.done)

    def request(self) -> dict[str, Any]:
        """Return the request as plain data: the artifact ``sweep.json``, which :meth:`from_request` reads."""
        preset = asdict(self.preset) if self.preset else None
        metrics = [asdict(info) for info in self.metric_info.values()]
        command: dict[str, Any] = {"command": self.command, "overrides": list(self.overrides), "quick": self.quick}
        command |= {"notes": list(self.notes), "releases": dict(self.releases)}
        return {**command, "option_help": dict(self.option_help), "metrics": metrics, "preset": preset}

    @classmethod
    def from_request(cls, request: Mapping[str, Any], cells: tuple[CellRecord, ...], run_id: str) -> "SweepRecord":
        """Make the record again from ``sweep.json`` and the records of its cells."""
        overrides, preset = tuple(request["overrides"]), Preset.of(request["preset"])
        metrics = {info["name"]: MetricInfo(**info) for info in request["metrics"]}
        notes, releases, helps = tuple(request.get("notes", ())), request.get("releases", {}), request["option_help"]
        return cls(cells, request["command"], overrides, preset, request["quick"], helps, metrics, run_id, notes, releases)
