"""Declare every name that dpbench records, with its meaning. docs/records.md is generated from this module."""

from __future__ import annotations

from dataclasses import dataclass

KIND = "dpbench.kind"
KEY = "dpbench.key"
STATUS = "dpbench.status"
ERROR = "dpbench.error"
SOUND = "dpbench.sound"
PRIVATE = "dpbench.private"
LEAKS = "dpbench.leaks"
LEAKS_WHY = "dpbench.leaks_why"
AUDIT = "dpbench.audit"
NOISE = "dpbench.noise"
SYNTHETIC = "dpbench.synthetic"
ROWS_DROPPED = "dpbench.rows_dropped"
VERSION = "dpbench.version"
NUMPY = "dpbench.numpy"
CPU = "dpbench.cpu"
PLUGIN_VERSION = "dpbench.plugin_version"
SWEEP_KEY = "dpbench.sweep_key"
COMMAND = "dpbench.command"
REPEATED = "dpbench.asked_again"
PRESET = "dpbench.preset"
QUICK = "dpbench.quick"
NOTE = "mlflow.note.content"
PARENT = "mlflow.parentRunId"
COLOUR = "mlflow.runColor"

EPSILON_ACCOUNTED = "privacy/epsilon_accounted"
EPSILON_AUDITED = "privacy/epsilon_audited"
ATTACK_CAP = "attack/cap"
CELL_SECONDS = "time/cell_seconds"

CONFIG_FILE = "config.yaml"
LEDGER_FILE = "ledger.json"
RUNS_FILE = "runs.parquet"
CURVES_FILE = "curves.parquet"
PLAN_FILE = "plan.csv"
RECORDS_FILE = "records.parquet"
REQUEST_FILE = "sweep.json"
NOTE_FILE = "note.md"
REPORT_FOLDER = "report"
REPORT_FILE = "report.html"
SUMMARY_FILE = "summary.csv"


@dataclass(frozen=True)
class Name:
    """A recorded name. A part in angle brackets stands for any text."""

    text: str
    meaning: str
    unit: str = ""


# One value per cell, as text.
CELL_PARAMETERS = (
    Name("mechanism", "the name of the mechanism"),
    Name("model", "the name of the model"),
    Name("dataset", "the name of the dataset"),
    Name("attack", "the name of the attack; `none` if there is none"),
    Name("epsilon", "the privacy budget that was requested"),
    Name("delta", "the δ at which an (ε, δ) guarantee is stated"),
    Name("splits", "how the rows were split, in words: `50 x 5-fold`"),
    Name("<group>.<option>", "an option that the sweep varied, as on the command line: `mechanism.ridge`"),
    Name("seed", "names every random stream; only if the sweep varied it"),
    Name("budget", "how the mechanism counts ε: `claimed` or `matched`; only if the sweep varied it"),
    Name("accounting", "how ε is accounted: `closed` or `pld`; only if the sweep varied it"),
    Name("noise", "`simulation` or `secure`; only if the sweep varied it"),
)

# One value per cell, as text.
CELL_TAGS = (
    Name(KIND, "`cell`"),
    Name(KEY, "identifies the cell: the same configuration on the same data with the same code has the same key"),
    Name(STATUS, "`ok` or `failed`"),
    Name(ERROR, "why the cell failed; only on failed cells"),
    Name(SOUND, "`true` if everything that was released carries a proof and no audit failed, else `false`"),
    Name(PRIVATE, "`true` if the accounted ε is finite, else `false`; absent on failed cells"),
    Name(LEAKS, "the names of what reached the result without being paid for, separated by commas; empty if there is nothing"),
    Name(LEAKS_WHY, "the same with a reason each, separated by semicolons"),
    Name(AUDIT, "`passed` or `failed`; only on cells that were audited (`audit.level`)"),
    Name(NOISE, "where the noise came from: `simulation` (from the seed, for experiments only) or `secure`"),
    Name(SYNTHETIC, "`true` if the rows were drawn and not collected"),
    Name(ROWS_DROPPED, "how many rows were left out because a value was missing; only if there were any"),
    Name(VERSION, "the version of dpbench"),
    Name(NUMPY, "the version of NumPy"),
    Name(CPU, "the machine and its BLAS kernels: with the same NumPy on the same CPU, a command gives the same bits"),
    Name(PLUGIN_VERSION, "the distribution that the mechanism came from, and its version"),
    Name(PARENT, "the run of the sweep, if the cell belongs to one"),
    Name("mlflow.runName", "the name of the run on MLflow's pages"),
    Name(COLOUR, "the colour of the mechanism in MLflow's charts"),
    Name("mlflow.source.name", "`dpbench`"),
    Name("mlflow.source.type", "`LOCAL`"),
)

# A metric that varies across runs is recorded once with each of these endings. The registered metrics of models and attacks do.
SUFFIXES = (
    Name("_median", "the median over the runs"),
    Name("_mean", "the mean over the runs"),
    Name("_std", "the standard deviation over the runs (n - 1); absent with a single run"),
    Name("_p20", "the 20 % quantile over the runs"),
    Name("_p80", "the 80 % quantile over the runs"),
    Name("_ci_low", "the lower end of a 95 % interval for the mean, by Student's t over the means of the repeats"),
    Name("_ci_high", "its upper end; both are absent with a single repeat"),
)

EXCESS = "excess_"
"""Begins the names of metrics that are differences from the non-private fit of the same run."""
REFERENCES = {
    "reference/no_privacy/": "the non-private fit on the same splits",
    "reference/mean_predictor/": "the predictor that knows only the training target (its mean, or its majority)",
}

CONTROL_UTILITY = Name("attack/control/<control>/utility/<name>", "a metric of the fit that a control of an attack makes")

# One value per cell, without a suffix.
CELL_METRICS = (
    Name("privacy/epsilon_budget", "the budget that the mechanism received, in its own currency"),
    Name(EPSILON_ACCOUNTED, "the ε of everything that was released, computed from the ledger; absent if it is infinite"),
    Name(EPSILON_AUDITED, "the largest lower bound on ε that an audit proved, at `audit.confidence`; with statistics only"),
    Name("privacy/delta", "the δ of the accounted guarantee; 0 if the guarantee is pure"),
    Name(ATTACK_CAP, "the largest expected advantage that the accounted guarantee allows; absent if nothing was attacked"),
    Name("health/not_positive_definite", "runs whose noisy objective had no minimum", "share of runs"),
    Name("health/repaired", "runs whose noisy objective was repaired", "share of runs"),
    Name("health/diverged", "runs whose fit did not converge", "share of runs"),
    Name("health/not_finite", "runs without finite weights", "share of runs"),
    Name("health/failed", "runs that did not pass the mechanism's private test", "share of runs"),
    Name("health/target_clipped", "targets outside the bounds; errors are measured against the clipped ones", "share of rows"),
    Name("health/<event>", "how many runs had an event that the mechanism counts, or a number that it chose for the fit"),
    Name("time/fit_seconds", "one fit from rows on one thread: the median of three, or a single long one", "seconds"),
    Name(CELL_SECONDS, "the work on the cell, all runs together", "seconds"),
)

# Artifacts of a cell.
CELL_FILES = (
    Name(CONFIG_FILE, "the whole configuration, defaults included; the only file of a failed cell"),
    Name(LEDGER_FILE, "every private answer with its price"),
    Name(RUNS_FILE, "one row per run"),
    Name(CURVES_FILE, "the curves over the runs, one row per point; only of models that predict a class"),
)

LEDGER_KEYS = (
    Name("neighbours", "`replace_one`: tables that differ in the values of one row"),
    Name("entries", "one per call, in order"),
    Name("entries.query", "what was queried"),
    Name("entries.norm", "the norm in which the sensitivity is measured"),
    Name("entries.sensitivity", "how far a neighbour can move the answer; null if it differs by coefficient"),
    Name("entries.noise", "the law of the noise"),
    Name("entries.scale", "the scale of the noise: a number, or `smallest` and `largest`"),
    Name("entries.bound", "the largest change of the answer divided by the scale: what the price rests on"),
    Name(
        "entries.cost", "the price: its `kind` (`pure`, `zcdp`, `gdp`, `approx`, `none`), and `epsilon`, `rho`, `mu` or `delta`"
    ),
    Name("entries.sound", "whether the bound is proven"),
    Name("entries.proof", "where the proof is"),
    Name("total", "`epsilon` (null if infinite) and `delta` of all entries"),
    Name("leaks", "what was not paid for: `what`, and `why`"),
    Name("audit", "`passed` and `violations`; only if the cell was audited"),
)

# One value per run of a cell.
RUN_COLUMNS = (
    Name("repeat", "the number of the repeat"),
    Name("fold", "the number of the fold"),
    Name("seed", "the seed of the cell"),
    Name("n_train", "the number of training rows", "rows"),
    Name("n_test", "the number of test rows", "rows"),
    Name("status", "`ok`, `repaired`, `failed_test` or `diverged`"),
    Name("utility/<name>", "a metric of the model"),
    Name("reference/<name>", "a metric of one of the references"),
    Name("attack/<name>", "a metric of the attack"),
    Name("weight/<coefficient>", "a released weight, on the scaled columns"),
)

# One value per point of a curve.
CURVE_COLUMNS = (
    Name("curve", "the name of the curve: `utility/roc`, or that of a reference, such as `reference/no_privacy/roc`"),
    Name("x", "the position on the horizontal axis: of a ROC curve the false positive rate, at 101 even steps"),
    Name("median", "the median over the runs at this x: of a ROC curve the true positive rate"),
    Name("mean", "the mean over the runs at this x"),
    Name("p20", "the 20 % quantile over the runs at this x"),
    Name("p80", "the 80 % quantile over the runs at this x"),
)

# One value per sweep.
SWEEP_TAGS = (
    Name(KIND, "`sweep`"),
    Name(SWEEP_KEY, "identifies the set of cells"),
    Name(COMMAND, "the command, as it can be typed again"),
    Name(REPEATED, "when the same cells were last requested after they were recorded, in milliseconds since 1970"),
    Name(PRESET, "the preset, as `experiment=` names it; only if the sweep runs one"),
    Name(QUICK, "`true` if `quick=true` reduced it to a first look, else `false`"),
    Name(NOTE, "links to the report and to the cells, the answer in sentences, the figure, and a table of the cells"),
    Name("mlflow.runName", "the name of the run on MLflow's pages"),
    Name("mlflow.source.name", "`dpbench`"),
    Name("mlflow.source.type", "`LOCAL`"),
)

# One value per sweep.
SWEEP_METRICS = (
    Name("privacy/bill_cells", "private cells on the table that costs most; cells that differ by the attack count once", "cells"),
    Name("privacy/bill_naive_epsilon", "the sum of their ε: the price of fitting each once and releasing them all"),
    Name("privacy/bill_naive_delta", "the sum of their δ"),
    Name("privacy/bill_selected_epsilon", "the price of releasing only the best one, chosen by a score within each cell's ε"),
    Name("privacy/bill_selected_delta", "the δ of that selection; both are absent if no bound is known"),
)

# Artifacts of a sweep.
SWEEP_FILES = (
    Name(PLAN_FILE, "every cell of the grid: `state` (`run`, `resumed`, `failed`, `pruned`), `why`, and its parameters"),
    Name(RECORDS_FILE, "one row per cell: the columns below, its parameters, its `dpbench.` tags and its metrics"),
    Name(
        REQUEST_FILE,
        "the request as data: `command`, `overrides`, `quick`, `option_help`, `metrics` (their meaning), `preset`",
    ),
    Name(f"{REPORT_FOLDER}/{REPORT_FILE}", "the report, a page that needs no other file"),
    Name(f"{REPORT_FOLDER}/{SUMMARY_FILE}", "the same table as `records.parquet`"),
    Name(f"{REPORT_FOLDER}/<figure>.png", "a figure, named below"),
    Name(f"{REPORT_FOLDER}/<figure>.pdf", "the same figure"),
    Name(f"{REPORT_FOLDER}/<table>.csv", "a table, named below"),
    Name(f"{REPORT_FOLDER}/<table>.tex", "the same table"),
    Name(NOTE_FILE, "the whole note, if it is too long for MLflow's page"),
)

# One value per cell of a sweep.
RECORD_COLUMNS = (
    Name("state", "`run`, `resumed` (recorded by an earlier sweep), `failed` or `pruned`"),
    Name("reason", "why the cell failed or was pruned"),
    Name("primary", "the metric of the model by which cells are ordered: `rmse`, `error_rate`"),
    Name("run_id", "the run of the cell; empty if it was pruned"),
)

FIGURES = (
    Name("figure", "the paper's own figure; only of a preset"),
    Name("error_vs_epsilon", "the error against ε"),
    Name("boxes", "box plots of the error over the runs"),
    Name("error_vs_accounted", "the error against the accounted ε"),
    Name("attack_frontier", "the error against the advantage of the attack"),
    Name("time_vs_error", "the error against the time of a fit"),
    Name("health", "the shares of runs that went wrong"),
    Name("ranks", "the mean ranks of the mechanisms over the datasets"),
)

TABLES = (
    Name("leaderboard", "the cells ordered by their median error at each accounted ε"),
    Name("comparisons", "the others against the best at the same accounted ε, paired over the repeats"),
    Name("ledger", "the queries, and the price of each answer"),
    Name("leaks", "what reached the result without being paid for"),
    Name("attacks", "the metrics of the attacks"),
    Name("health", "the `health/` metrics"),
    Name("failures", "the cells that failed and those that were pruned, with the reason"),
)
