"""Write docs/records.md from the names that the core declares and the metrics that are registered.

python scripts/records_page.py            write it
python scripts/records_page.py --check    and fail if it is stale
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dpbench.inference import metrics as interval_metrics
from dpbench.records import names
from dpbench.records.metric_info import MetricInfo
from dpbench.records.names import Name
from dpbench.registry.lookup import registry

OWN = "dp-regression-bench"
PAGE = Path(__file__).parents[1] / "docs" / "records.md"

TOP = """\
# What a record holds

Written by `python scripts/records_page.py` from `dpbench/records/names.py` and the registered metrics: edit those.

dpbench writes everything to MLflow, under names that do not change: notebooks, dashboards and other programs may rely on each of
them. New names may be added; a name on this page keeps its meaning.

A cell is one mechanism on one model and one dataset, attacked by one attack, at one ε. Each cell is one MLflow run. A sweep is a
run as well, the parent of its cells. A cell that was run alone has no parent.
"""
RANKED = """\
Rankings should keep to cells with `dpbench.sound = true`, or to those with `dpbench.guarantee = claimed` among themselves: the
others cannot be compared by their error. A later audit may change these tags of a recorded cell, and no other name.
"""
METRICS = """\
A cell has many runs, one for each repeat and each tested fold. A metric that varies across runs is recorded once per suffix:
`utility/rmse_median`, `utility/rmse_mean` and so on.
"""
FINITE = """\
The folds of one repeat share rows and are not independent, so the interval goes over the means of the repeats. A run whose
weights are not finite has no error: it is left out of these numbers and counted in `health/not_finite`. No metric is ever
infinite or undefined; what cannot be computed is absent.

All metrics are in `cell.json`, and in `records.parquet` of the sweep. The MLflow run has at most 30 of them, those that people
browse: more would slow MLflow's pages down. `<primary>` is the model's primary metric, such as `rmse` or `error_rate`.
"""
MODELS = """\
### Of the model

Plugins can add metrics: `python -m dpbench plugins` lists those that are installed. Errors are on the target scaled to [-1, 1].
A curve is in `curves.parquet`, not in MLflow's metrics.
"""
ATTACKS = """\
### Of the attack

They are absent with `attack=none`. [attacks.md](attacks.md) explains them. "Better" is meant from the attacker's side.
"""
INTERVALS = """\
### Intervals

Where the fit tells how its noise moves the coefficients (see [inference.md](inference.md)):
"""
SINGLE = """\
### One value per cell

These have no suffix:
"""
PRIVATE = """\
All metrics are computed on the private rows, and no ε in the table pays for them: publishing them is another release.
"""
SWEEP_METRICS = """\
Metrics; those of privacy only if there are at least two private cells to choose from (see [privacy.md](privacy.md)):
"""
END = """\
The MLflow status of a run is `FINISHED`; `FAILED` if the cell, or a cell of the sweep, failed; `KILLED` if it was
interrupted. The cells that were finished by then stay recorded, and the same command goes on from there: the sweep that
finishes the grid becomes the parent of them all.

If an error prevents a part of the report, such as one figure, the sweep finishes without it. The page and the terminal name
the part and the error, everything else is written, and the exit code is that of the cells: 1 if one failed or was refuted.

Ctrl-C, SIGTERM (`kill`, schedulers) and SIGHUP (a terminal that closes) all end a command in this way, with exit code 130. A
signal that is ignored, as under `nohup`, stays ignored, and `dpbench.sweep(…)` in your own program leaves SIGTERM and SIGHUP
to it. A sweep whose process was killed outright (SIGKILL, out of memory, no power) is closed by the next sweep on the same
store, and a cell that was half written then is deleted (MLflow keeps deleted runs until `mlflow gc`). While a sweep runs, its
tag `dpbench.lease` names its host and process and is renewed every minute. The process counts as dead if it is gone from the
host that looks, or if it was silent for 15 minutes.

Sweeps that run at the same time share their cells: each claims a cell before it runs it, and waits for cells that another one has
claimed. A claim is a lock, next to a SQLite file (`mlflow.db.claims`) or in PostgreSQL, and ends with its process. On an MLflow
server, which has no locks, a running sweep lists its cells in `claims.json`: two that begin within the same moment may both run a
cell, and the newest record counts.

A store that does not answer is waited for, up to 90 seconds. After that, or if its disk is full, the sweep goes on: finished
cells are kept in `mlflow.undelivered` next to the store (or in the cache folder, or with the temporary files), and the same
command delivers them. They are as private as the store: a folder that belongs to another user, or that another user may write
to, is neither read nor used.

The files of a SQLite store are looked up next to it, so that a project's folder can be moved or copied. A cell with a missing
file counts as not recorded.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is stale")
    check = parser.parse_args().check
    text = page()
    if PAGE.read_text(encoding="utf-8") == text:
        print("Nothing has changed.")
    elif check:
        sys.exit("Stale: docs/records.md. Run python scripts/records_page.py.")
    else:
        PAGE.write_text(text, encoding="utf-8")
        print("Written: docs/records.md.")
    return 0


def page() -> str:
    """Return the whole page."""
    sections = [
        *(TOP, "## A cell's parameters\n", table(names.declared("cell_parameters"))),
        "Options that were not varied are in the artifact `config.yaml`.\n",
        *("## A cell's tags\n", table(names.declared("cell_tags")), RANKED),
        *("## A cell's metrics\n", METRICS, table(names.declared("suffixes"), "suffix"), FINITE),
        table(names.declared("browsed_metrics"), "in MLflow, in this order"),
        *("MLflow's charts need two more:\n", table(names.declared("chart_metrics"), "for charts")),
        *(MODELS, metric_table(model_metrics())),
        *("The same names, except `ols_se` and `share_lost`, are also recorded with these beginnings:\n", table(beginnings())),
        *(INTERVALS, metric_table({info: [] for info in interval_metrics.INFOS})),
        *(ATTACKS, *attack_tables(), "With an attack that has controls:\n", table(names.declared("control_utility"))),
        *(SINGLE, table(names.declared("cell_metrics")), PRIVATE),
        *("## A cell's artifacts\n", table(names.declared("cell_files"))),
        *(f"Keys of `{names.LEDGER_FILE}`:\n", table(names.declared("ledger_keys"))),
        *(f"Columns of `{names.RUNS_FILE}`, one row per run:\n", table(names.declared("run_columns"))),
        *(f"Columns of `{names.CURVES_FILE}`, one row per point of a curve:\n", table(names.declared("curve_columns"))),
        *("## A sweep\n", "Tags:\n", table(names.declared("sweep_tags")), SWEEP_METRICS, table(names.declared("sweep_metrics"))),
        *("Artifacts:\n", table(names.declared("sweep_files"))),
        "Columns of `records.parquet` and `report/summary.csv` in addition to the names above:\n",
        table(names.declared("record_columns")),
        *("Figures, each only if the sweep has something to show in it:\n", table(names.declared("figures"))),
        *("Tables, each only if there is a row for it:\n", table(names.declared("tables"))),
        END,
    ]
    return "\n".join(sections)


def shipped(kind: str) -> list[Any]:
    """Return the components or metrics of this distribution, by name."""
    return [
        entry.offer for entry in registry().entries if entry.kind == kind and entry.plugin.distribution == OWN and entry.offer
    ]


def model_metrics() -> dict[MetricInfo, list[str]]:
    """Return the metrics of all models, each with the models that have it."""
    models, metrics = shipped("model"), shipped("metric")
    return {metric.info: [f"`{model.name}`" for model in models if metric.suits(model, {metric.flag})] for metric in metrics}


def attack_tables() -> Iterable[str]:
    """Return a table of the metrics of every attack that has metrics."""
    for attack in shipped("attack"):
        if attack.metrics:
            yield f"With `attack={attack.name}`:\n"
            yield metric_table({info.in_group("attack"): [] for info in attack.metrics})


def beginnings() -> list[Name]:
    """Return the names that stand for a metric of the model in another role."""
    excess = Name(f"utility/{names.EXCESS}<name>", "the difference from the non-private fit of the same run")
    return [excess, *(Name(f"{prefix}<name>", meaning) for prefix, meaning in names.REFERENCES.items())]


def metric_table(metrics: dict[MetricInfo, list[str]]) -> str:
    """Return a table of metrics, with the models that have them if there are any."""
    rows = [(f"`{info.name}`", info.meaning, info.better, info.unit, ", ".join(models)) for info, models in metrics.items()]
    return lines(["name", "what it is", "better", "unit", "models"], rows)


def table(declared: Iterable[Name], head: str = "name") -> str:
    return lines([head, "what it is", "unit"], [(f"`{name.text}`", name.meaning, name.unit) for name in declared])


def lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, without its empty columns."""
    used = [index for index in range(len(head)) if any(row[index] for row in rows)]
    head, rows = [head[index] for index in used], [[row[index] for index in used] for row in rows]
    cells = [head, ["---"] * len(head), *([text.replace("|", "\\|") for text in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


if __name__ == "__main__":
    sys.exit(main())
