"""Try `dataset=table` on the tables of `dataset=open`, and compare the results with numbers that were computed elsewhere.

    python scripts/real_tables.py [TABLE ...] [--repeats 5]

`tables.json` (columns, public bounds, reference numbers) lies next to the Parquet files. Each of these is written to CSV and
goes the way of a user's table: `data describe` drafts a bounds file, its numbers and levels are replaced by the public ones,
the line `from_data` is deleted, and a sweep without privacy runs on it. The loaded CSV, Parquet file and DataFrame must hold the
same numbers as the source, value by value. Then these are compared:

- the error of least squares on all rows, or the share of class 1: to all digits of the reference;
- the error of least squares out of fold, on the scaled target (two classes are -1 and +1): within 2 %, as the folds differ;
- the share of rows that logistic regression misclassifies out of fold: within 2 % or one standard error. If the classes can be
  separated, the likelihood has no maximum, and the reference has a small penalty: then a difference does not count.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import yaml

import dpbench
from dpbench.__main__ import main as command
from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.table import Table
from dpbench.files.data_frames import store_frame
from dpbench.registry.lookup import registry

FOLDER = Path(__file__).parents[1] / "plugins" / "datasets" / "data" / "open"

IN_SAMPLE_TOLERANCE = {"real": 5.1e-6, "binary": 5.1e-5}
"""Half a unit of the last decimal of the reference numbers that use all rows."""

FOLDS_TOLERANCE = 0.02
"""How far an out-of-fold error may be from the reference, whose folds are others."""

HEADER = ("table", "rows", "compared", "reference", "ours", "agree")


@dataclass(frozen=True)
class Line:
    """One comparison of a table."""

    table: str
    rows: int
    compared: str
    reference: float
    ours: float
    agree: bool | None
    """None if the numbers cannot be compared."""
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the line as texts."""
        verdict = f"{ {True: 'yes', False: 'NO', None: '-'}[self.agree] } {self.note}".rstrip()
        return self.table, f"{self.rows:,}", self.compared, f"{self.reference:.4f}", f"{self.ours:.4f}", verdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="the names of tables (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="number of times that a table is split into 5 folds")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder of tables.json and the Parquet files")
    arguments = parser.parse_args()
    facts = json.loads((arguments.folder / "tables.json").read_text(encoding="utf-8"))["tables"]
    print_line(HEADER)
    disagreements = 0
    for name in arguments.tables or facts:
        with tempfile.TemporaryDirectory() as folder:
            try:
                lines = compare(name, facts[name], arguments.folder, Path(folder), arguments.repeats)
            except Refused as refusal:
                lines = [Line(name, facts[name]["rows"], "all", np.nan, np.nan, False, str(refusal))]
        for line in lines:
            print_line(line.cells())
            disagreements += line.agree is False
    print(f"{disagreements} comparisons disagree." if disagreements else "All comparisons agree.")
    return int(disagreements > 0)


def print_line(cells: tuple[str, ...]) -> None:
    """Print one line of the table at once: a large folder takes minutes."""
    print("{:<18} {:>8} {:<16} {:>9} {:>9}  {}".format(*cells), flush=True)


def compare(name: str, facts: dict[str, Any], source: Path, folder: Path, repeats: int) -> list[Line]:
    """Run one table as its owner would, and return its comparisons."""
    parquet, csv, bounds = source / f"{name}.parquet", folder / f"{name}.csv", folder / f"{name}.yaml"
    frame = pandas.read_parquet(parquet)
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("float32"), float))  # a CSV of float32 has too few digits
    frame.to_csv(csv, index=False)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        if command(["data", "describe", str(csv), "--out", str(bounds)]) != 0:
            return [Line(name, facts["rows"], "describe", np.nan, np.nan, False, errors.getvalue().strip())]
    edit(bounds, facts)
    tables = [load(path, bounds) for path in (str(csv), str(parquet), store_frame(frame))]
    equal = all(same_rows(tables[0], table) for table in tables[1:]) and holds_frame(tables[0], frame, facts)
    fit_line = in_sample(name, facts, tables[0], equal)
    del tables
    return [fit_line, *sweep(name, facts, csv, bounds, repeats)]


def edit(bounds: Path, facts: dict[str, Any]) -> None:
    """Replace the drafted numbers and levels by the public ones, and keep the rest of the draft: the options of the file."""
    draft = yaml.load(bounds.read_text(encoding="utf-8"), yaml.BaseLoader)
    del draft["from_data"]
    draft["target"] = facts["target"]
    draft.pop("threshold", None)
    draft["columns"] = {
        name: {"levels": [str(level) for level in column["levels"]]}
        if "levels" in column
        else {"low": column["bounds"][0], "high": column["bounds"][1]}
        for name, column in facts["columns"].items()
    }
    bounds.write_text(yaml.safe_dump(draft, sort_keys=False, allow_unicode=True), encoding="utf-8")


def load(path: str, bounds: Path) -> Table:
    """Load a table as a sweep would."""
    table: Table = registry().get("dataset", "table").build({"path": path, "bounds": str(bounds)}).select(stream(0))
    return table


def same_rows(one: Table, other: Table) -> bool:
    """Return whether two tables hold the same numbers."""
    return (
        one.columns == other.columns
        and np.array_equal(one.features, other.features)
        and np.array_equal(one.response, other.response)
    )


def holds_frame(table: Table, frame: pandas.DataFrame, facts: dict[str, Any]) -> bool:
    """Return whether a loaded table holds the values of the frame: numbers, and one column per level."""
    expected = []
    for name, column in facts["columns"].items():
        if column["role"] == "target":
            continue
        if "levels" in column:
            expected += [(frame[name].astype(str) == str(level)).to_numpy(dtype=float) for level in column["levels"]]
        else:
            expected.append(frame[name].to_numpy(dtype=float))
    target = frame[facts["target"]].to_numpy(dtype=float)
    return np.array_equal(table.features, np.column_stack(expected)) and np.array_equal(table.response, target)


def in_sample(name: str, facts: dict[str, Any], table: Table, equal: bool) -> Line:
    """Compare what needs no folds, so that all digits of the reference count."""
    if facts["task"] == "binary":
        what, reference, ours = "share of class 1", facts["reference"]["positive_share"], float(table.response.mean())
    else:
        columns = [*table.columns, table.target]
        values = np.column_stack([table.features, table.response])
        low, high = (np.array([getattr(column, side) for column in columns]) for side in ("low", "high"))
        scaled = 2 * (np.clip(values, low, high) - low) / (high - low) - 1
        design = np.column_stack([np.ones(table.rows), scaled[:, :-1]])
        residuals = scaled[:, -1] - design @ np.linalg.lstsq(design, scaled[:, -1], rcond=None)[0]
        what, reference = "linear, all rows", facts["reference"]["ols_rmse_scaled_in_sample"]
        ours = float(np.sqrt(np.mean(residuals**2)))
    agree = equal and abs(ours - reference) <= IN_SAMPLE_TOLERANCE[facts["task"]]
    return Line(name, table.rows, what, reference, ours, agree, "" if equal else "CSV, Parquet and DataFrame differ")


def sweep(name: str, facts: dict[str, Any], csv: Path, bounds: Path, repeats: int) -> list[Line]:
    """Compare the out-of-fold errors of a sweep without privacy."""
    reference, rows, binary = facts["reference"], facts["rows"], facts["task"] == "binary"
    options = {"dataset.path": str(csv), "dataset.bounds": str(bounds), "splits.repeats": repeats}
    models = ["linear", "logistic"] if binary else ["linear"]
    frame = dpbench.sweep(options, dataset="table", mechanism="no_privacy", model=models, engine="serial", record=False).full
    lines = []
    for model, (_, cell) in zip(models, frame.iterrows(), strict=True):
        if cell["state"] != "run":
            lines.append(Line(name, rows, model, np.nan, np.nan, False, str(cell["reason"])))
        elif model == "linear":
            expected = reference["ols_on_pm1_rmse" if binary else "ols_rmse_scaled"]
            ours = float(np.sqrt(cell["utility/mse_mean"]))
            lines.append(Line(name, rows, "linear, rmse", expected, ours, abs(ours - expected) <= FOLDS_TOLERANCE * expected))
        else:
            expected, ours = reference["logistic_error"], float(cell["utility/error_rate_mean"])
            tolerance = max(FOLDS_TOLERANCE * expected, np.sqrt(expected * (1 - expected) / rows))
            agree = bool(abs(ours - expected) <= tolerance)
            if not agree and cell["health/diverged"] > 0:
                lines.append(
                    Line(name, rows, "logistic, error", expected, ours, None, "(the classes of some folds are separable)")
                )
            else:
                lines.append(Line(name, rows, "logistic, error", expected, ours, agree))
    return lines


if __name__ == "__main__":
    sys.exit(main())
