"""What parameters and metrics are called on an axis, in a title, in a legend and in a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dpbench.records.cell_record import CellRecord

LABELS = {
    "epsilon": "ε",
    "delta": "δ",
    "dataset.attributes": "dimensions",
    "dataset.sample_n": "rows",
    "dataset.sample_rate": "share of the rows used",
    "privacy/epsilon_budget": "ε handed to the mechanism",
    "privacy/epsilon_accounted": "ε accounted",
    "privacy/epsilon_audited": "ε proven by the audit",
    "utility/mse": "mean square error (scaled target)",
    "utility/rmse": "root mean square error (scaled target)",
    "utility/mae": "mean absolute error (scaled target)",
    "utility/rmse_raw": "root mean square error (target's unit)",
    "utility/r2": "R²",
    "utility/log_likelihood": "log-likelihood of a test row",
    "utility/error_rate": "misclassification rate",
    "utility/auc": "area under the ROC curve",
    "utility/log_loss": "log loss",
    "utility/roc": "true positive rate",
    "attack/advantage": "attack advantage",
    "attack/auc": "attack: area under the ROC curve",
    "attack/accuracy_train": "attack accuracy on training rows",
    "attack/accuracy_test": "attack accuracy on other rows",
    "attack/balanced_accuracy": "balanced attack accuracy",
    "attack/gap": "attack accuracy, training minus other rows",
    "attack/cap": "cap of the guarantee",
    "health/not_positive_definite": "not positive definite",
    "health/not_finite": "no finite weights",
    "time/fit_seconds": "seconds for one fit",
    "time/cell_seconds": "seconds for all runs",
}
REFERENCES = {"no_privacy": "non-private fit", "mean_predictor": "mean predictor"}
COMPONENTS = ("mechanism", "model", "dataset")
VALUES_NEEDING_A_NAME = ("true", "false", "none", "null", "inf", "nan")
"""Words that say nothing without the name of their option."""
MAX_HELP_LENGTH = 50
"""Longer help texts of options do not fit an axis."""


def label_of(name: str, help_texts: Mapping[str, str] | None = None) -> str:
    """Return a parameter or a metric in words: an option with its recorded help text, if that is short."""
    if name.startswith("utility/excess_"):
        return f"{label_of(name.replace('excess_', ''))}, minus the non-private fit's"
    plain = name.rpartition("/")[2].rpartition(".")[2].replace("_", " ")
    text = (help_texts or {}).get(name, "")
    return LABELS.get(name) or (f"{plain}: {text}" if 0 < len(text) < MAX_HELP_LENGTH else plain)


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
    return f"{LABELS[key]} = {value}" if key in ("epsilon", "delta") else f"{key.rpartition('.')[2]}={value}"


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


def on_scaled_target(metric: str) -> bool:
    """Return whether a metric of utility is in the unit of the scaled target."""
    return "(scaled target)" in LABELS.get(f"utility/{metric}", "")
