"""What parameters and metrics are called on an axis, in a title, in a legend and in a table."""

from collections.abc import Iterable, Sequence

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import declared
from dpbench.records.sweep_record import SweepRecord

OPTION_LABELS = {"dataset.attributes": "dimensions", "dataset.sample_n": "rows", "dataset.sample_rate": "share of the rows used"}
REFERENCES = {"no_privacy": "non-private fit", "mean_predictor": "mean predictor"}
COMPONENTS = ("mechanism", "model", "dataset")
VALUES_NEEDING_A_NAME = ("true", "false", "none", "null", "inf", "nan")
"""Words that say nothing without the name of their option."""
MAX_HELP_LENGTH = 50
"""Longer help texts of options do not fit an axis."""
MAX_UNIT_LENGTH = 12
"""Longer units do not fit the head of a column."""


def label_of(name: str, sweep: SweepRecord | None = None) -> str:
    """Return a parameter or a metric in words, which are recorded with the sweep: of an option its help text if it is short."""
    if sweep and name in sweep.metric_info:
        return sweep.metric_info[name].label
    if name.startswith("utility/excess_"):
        return f"{label_of(name.replace('excess_', ''), sweep)}, minus the non-private fit's"
    plain = name.rpartition("/")[2].rpartition(".")[2].replace("_", " ")
    text = sweep.option_help.get(name, "") if sweep else ""
    labels = OPTION_LABELS | {one.text: one.label for one in (*declared("cell_parameters"), *declared("cell_metrics"))}
    return labels.get(name) or (f"{plain}: {text}" if 0 < len(text) < MAX_HELP_LENGTH else plain)


def reference(name: str) -> str:
    """Return the label of a metric that is drawn as a level line."""
    kind, _, rest = name.partition("/")
    parts = rest.replace("_", " ").split("/")
    if kind == "reference":
        return REFERENCES.get(rest.partition("/")[0], parts[0])
    return f"control: {parts[1]}" if name.startswith("attack/control/") else label_of(name)


def setting(key: str, value: str) -> str:
    """Return a parameter with its value; a component is its name alone."""
    if key in COMPONENTS:
        return value
    return f"{label_of(key)} = {value}" if key in ("epsilon", "delta") else f"{key.rpartition('.')[2]}={value}"


def problem_title(cell: CellRecord, keys: Iterable[str]) -> str:
    """Return the problem that a panel shows: ``linear on wine``, and what else tells it from the others."""
    values = {key: cell.params[key] for key in keys if key in cell.params}
    place = " on ".join(values.pop(key) for key in ("model", "dataset") if key in values)
    parts = [place, *(setting(key, value) for key, value in values.items()), "SYNTHETIC" if cell.synthetic else ""]
    return ", ".join(filter(None, parts))


def shortened(names: Iterable[str]) -> dict[str, str]:
    """Shorten the labels of curves to option values, where they remain unique and are words."""
    short = {name: _values_only(name) for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in short}


def _values_only(name: str) -> str:
    owner, _, rest = name.partition(" (")
    inner, closed, more = rest.rpartition(")")
    pairs = [part.partition("=") for part in inner.split(", ")]
    if not closed or len(pairs) < 2 or not all(equals for _, equals, _ in pairs):
        return name
    return f"{owner}: {', '.join(value if _is_word(value) else f'{key}={value}' for key, _, value in pairs)}{more}"


def _is_word(value: str) -> bool:
    return value.replace("_", "").replace("-", "").isalpha() and value.lower() not in VALUES_NEEDING_A_NAME


def with_scale(cell: CellRecord, sweep: SweepRecord) -> str:
    """Return a cell's primary metric, and that it is measured on the scaled, or transformed, target if it is."""
    info = sweep.metric_info.get(f"utility/{cell.primary}")
    if not info or not info.unit.startswith("scaled target"):
        return cell.primary
    return f"{cell.primary} on the scaled target" + (f" ({cell.target_transform})" if cell.target_transform else "")


def error_heading(sweep: SweepRecord, cells: Sequence[CellRecord]) -> str:
    """Return the heading of errors that may be on a scaled target."""
    scaled = ["on the scaled target" in with_scale(cell, sweep) for cell in cells]
    return "scaled error" if all(scaled) else "error"


def unit_heading(cells: Sequence[CellRecord]) -> str:
    """Return the heading of errors in the target's own unit; empty if no cell has one that differs from the scaled error."""
    units = {cell.target_unit for cell in cells if cell.error_in_unit() not in (None, cell.error())}
    if not units:
        return ""
    unit = units.pop() if len(units) == 1 else ""
    return f"in {unit}" if 0 < len(unit) <= MAX_UNIT_LENGTH else "in its unit"
