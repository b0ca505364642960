"""How parameters and metrics are called on an axis, in a panel's title and in a legend."""

from __future__ import annotations

from collections.abc import Iterable

from dpbench.base.errors import Refused
from dpbench.base.options import options_of
from dpbench.records.cell_record import CellRecord
from dpbench.registry.lookup import registry

AXES = {
    "epsilon": "ε",
    "delta": "δ",
    "privacy/epsilon_budget": "ε handed to the mechanism",
    "privacy/epsilon_accounted": "ε accounted",
    "privacy/epsilon_audited": "ε proven by the audit",
    "dataset.attributes": "dimensions",
    "dataset.d": "dimensions",
    "dataset.n": "rows",
    "dataset.sample_n": "rows",
    "dataset.sample_rate": "share of the rows used",
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
    "attack/gap": "attack accuracy, training less other rows",
    "health/not_positive_definite": "not positive definite",
    "health/not_finite": "no finite weights",
    "time/fit_seconds": "seconds for one fit",
    "time/cell_seconds": "seconds for all runs",
}
REFERENCES = {"no_privacy": "non-private fit", "mean_predictor": "mean predictor"}
WORDLESS = ("true", "false", "none", "null", "inf", "nan")
BRIEF = 50
"""So many characters of help fit an axis."""
COMPONENTS = ("mechanism", "model", "dataset")


def axis(name: str) -> str:
    """A parameter or a metric in words."""
    if name.startswith("utility/excess_"):
        return f"{axis(name.replace('excess_', ''))}, less the non-private fit's"
    return AXES.get(name) or _plain(name.rpartition("/")[2].rpartition(".")[2])


def along(key: str, rows: Iterable[CellRecord]) -> str:
    """A parameter of these rows in words: an option of a component in those of its one line of help, where they are few."""
    kind, _, option = key.partition(".")
    if key in AXES or not option:
        return axis(key)
    owners = dict.fromkeys(row.params[kind] for row in rows if key in row.params and kind in row.params)
    helps = {_help(kind, owner, option) for owner in owners}
    text = helps.pop() if len(helps) == 1 else ""
    return f"{option}: {text}" if 0 < len(text) < BRIEF else axis(key)


def _help(kind: str, name: str, option: str) -> str:
    try:
        found = options_of(registry().get(kind, name))
    except Refused:  # the sweep may be another's, with plugins that are not here
        return ""
    return next((one.help for one in found if one.name == option), "")


def short(names: Iterable[str]) -> dict[str, str]:
    """Of each curve's name what tells it: of several options in words the words alone, unless two curves would agree."""
    found = {name: _short(name) for name in names}
    return found if len(set(found.values())) == len(found) else {name: name for name in found}


def _short(name: str) -> str:
    owner, _, rest = name.partition(" (")
    inner, closed, more = rest.rpartition(")")
    pairs = [part.partition("=") for part in inner.split(", ")]
    if not closed or len(pairs) < 2 or not all(equals for _, equals, _ in pairs):
        return name
    return f"{owner}: {', '.join(value if _tells(value) else f'{key}={value}' for key, _, value in pairs)}{more}"


def _tells(value: str) -> bool:
    """Whether a value says what it is without the name of its option: a word."""
    return value.replace("_", "").replace("-", "").isalpha() and value.lower() not in WORDLESS


def reference(name: str) -> str:
    """A metric that is drawn as a level line."""
    kind, _, rest = name.partition("/")
    owner = rest.partition("/")[0]
    if kind == "reference":
        return REFERENCES.get(owner, _plain(owner))
    if name.startswith("attack/control/"):
        return f"control: {_plain(name.split('/')[2])}"
    return "cap of the guarantee" if name == "attack/cap" else axis(name)


def panel(row: CellRecord, keys: Iterable[str]) -> str:
    """The problem that a panel shows: ``linear on wine``, and what else tells it from the others."""
    values = {key: row.params[key] for key in keys if key in row.params}
    place = " on ".join(values.pop(key) for key in ("model", "dataset") if key in values)
    parts = [place, *(setting(key, value) for key, value in values.items())]
    synthetic = ["SYNTHETIC"] if row.synthetic else []
    return ", ".join(filter(None, [*parts, *synthetic]))


def setting(key: str, value: str) -> str:
    """A parameter with its value; the components go by their names alone."""
    if key in COMPONENTS:
        return value
    if key in ("epsilon", "delta"):
        return f"{AXES[key]} = {value}"
    return f"{key.rpartition('.')[2]}={value}"


def listed(names: Iterable[str], most: int = 6) -> str:
    """Names with commas, the first few of many."""
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def _plain(name: str) -> str:
    return name.replace("_", " ")
