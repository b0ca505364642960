"""The names that dpbench records. names.yaml declares all of them with their meaning; this module has those that code uses."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from dpbench.base.yaml_text import parse_yaml

KIND = "dpbench.kind"
KEY = "dpbench.key"
STATUS = "dpbench.status"
PRIMARY = "dpbench.primary"
ERROR = "dpbench.error"
GUARANTEE = "dpbench.guarantee"
GUARANTEE_WHY = "dpbench.guarantee_why"
REPLAYED_N = "dpbench.replayed_n"
SOUND = "dpbench.sound"
PRIVATE = "dpbench.private"
LEAKS = "dpbench.leaks"
LEAKS_WHY = "dpbench.leaks_why"
SENSITIVITY = "dpbench.sensitivity"
REMARKS = "dpbench.remarks"
LICENCE = "dpbench.licence"
CITATION = "dpbench.citation"
DIGEST_KEY = "dpbench.digest_key"
TARGET_UNIT = "dpbench.target_unit"
TARGET_TRANSFORM = "dpbench.target_transform"
INTERVALS = "dpbench.intervals"
INTERVAL_METHOD = "dpbench.interval_method"
INTERVAL_COVERS = "dpbench.interval_covers"
NOISE = "dpbench.noise"
SYNTHETIC = "dpbench.synthetic"
ROWS_DROPPED = "dpbench.rows_dropped"
ROWS_BEYOND_LIMIT = "dpbench.rows_beyond_limit"
VERSION = "dpbench.version"
NUMPY = "dpbench.numpy"
CPU = "dpbench.cpu"
PLUGIN_VERSION = "dpbench.plugin_version"
SWEEP_KEY = "dpbench.sweep_key"
COMMAND = "dpbench.command"
REPEATED = "dpbench.asked_again"
PRESET = "dpbench.preset"
QUICK = "dpbench.quick"
LEASE = "dpbench.lease"
DUPLICATE_OF = "dpbench.duplicate_of"
NOTE = "mlflow.note.content"
PARENT = "mlflow.parentRunId"
COLOUR = "mlflow.runColor"

EPSILON_ACCOUNTED = "privacy/epsilon_accounted"
EPSILON_LOG10 = "privacy/epsilon_accounted_log10"
PROBLEM_ERROR = "error/"
"""Begins the name of the error of the cells of one problem, for MLflow's charts."""
EPSILON_AUDITED = "privacy/epsilon_audited"
ATTACK_CAP = "attack/cap"
SHARE_LOST = "utility/share_lost"
FAILED_SHARE = "utility/failed_share"
DIVERGING = "health/diverging"
TARGET_CLIPPED = "health/target_clipped"
FEATURES_CLIPPED = "health/features_clipped"
LEAST_SPREAD = "health/least_spread"
EXPLODING = "health/exploding"
LARGEST_EXPLOSION = "health/largest_explosion"
NONZERO = "health/nonzero"
PENALTY = "health/penalty"
SMALLEST_COVERAGE = "inference/smallest_coverage"
INTERVAL_FLOORED = "health/interval_floored"
CELL_SECONDS = "time/cell_seconds"

CELL_FILE = "cell.json"
CONFIG_FILE = "config.yaml"
LEDGER_FILE = "ledger.json"
RUNS_FILE = "runs.parquet"
CURVES_FILE = "curves.parquet"
CLIPPED_FILE = "clipped.json"
INTERVALS_FILE = "intervals.json"
TRACEBACK_FILE = "traceback.txt"
PLAN_FILE = "plan.csv"
RECORDS_FILE = "records.parquet"
REQUEST_FILE = "sweep.json"
COMPARISONS_FILE = "comparisons.json"
NOTE_FILE = "note.md"
REPORT_FOLDER = "report"
REPORT_FILE = "report.html"

INTERCEPT = "intercept"
"""The name of the coefficient that is no slope."""
EXCESS = "excess_"
"""Begins the names of metrics that are differences from the non-private fit of the same run."""
IN_UNIT = "_raw"
"""Ends the names of metrics that are another one in the target's own unit: ``rmse_raw``."""
REFERENCES = {
    "reference/no_privacy/": "the non-private fit on the same splits",
    "reference/mean_predictor/": "the predictor that knows only the training target (its mean, or its majority)",
}


@dataclass(frozen=True)
class Name:
    """A recorded name. A part in angle brackets stands for any text."""

    text: str
    meaning: str
    unit: str = ""
    label: str = ""
    """What it is called on an axis, if not by its name."""


@cache
def declared(section: str) -> tuple[Name, ...]:
    """Return the names of a section of names.yaml, such as ``cell_tags``."""
    entries = ({**entry} for entry in _sections()[section])
    return tuple(Name(entry.pop("name"), **entry) for entry in entries)


@cache
def _sections() -> Mapping[str, list[dict[str, Any]]]:
    sections: dict[str, list[dict[str, Any]]] = parse_yaml(
        files("dpbench.records").joinpath("names.yaml").read_text(encoding="utf-8")
    )
    return sections
