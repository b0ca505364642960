"""How time grows with the rows and the columns of a table. Run by scripts/benchmark.py, or alone.

    python scripts/growth_benchmarks.py            print the exponents
    python scripts/growth_benchmarks.py --check    also fail if one exceeds its limits
    python scripts/growth_benchmarks.py --plot     also write docs/results/growth.png

Tables are drawn on the fly. Measured are the CPU seconds of a repeat of five folds, from scaled rows to scores: splitting, the
sums, an FM fit, its references and its scores. A small table has 50 repeats, as a cell has by default, so that what a cell costs
whatever its table does not hide what its rows cost. An exponent is the slope of a straight line through the logarithms.

Rows beyond memory go another way: a Parquet file is generated and streamed, from its bytes to the scores of a repeat of five
folds of blocks. That includes reading, checking and scaling, so both ways have a curve and an exponent of their own.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from streaming_benchmarks import SPARE_BYTES, streamed_table, write_table
from sweep_benchmarks import Measurement

COLUMNS = 14
"""Columns of the tables whose rows grow."""
ROWS = 200_000
"""Rows of the tables whose columns grow: so many more than columns that their sums, which are quadratic, outweigh the solving of
D x D systems, which is cubic and does not depend on the rows."""
MIN_ROWS, MAX_ROWS = 10_000, 5_000_000
MIN_STREAMED_ROWS, MAX_STREAMED_ROWS = 1_000_000, 50_000_000
"""Rows of streamed tables. With fewer, opening the file hides what its rows cost."""
WIDTHS = (48, 96, 192, 384)
"""Below this, what each row costs whatever its length hides the squares."""
ROUNDS = 3
MAX_REPEATS, VALUES = 50, 100_000_000
"""A table has as many repeats as make this many values, at most those of a cell by default."""
PICTURE = Path(__file__).parents[1] / "docs" / "results" / "growth.png"
BYTES_PER_VALUE = 40
"""Of memory, to draw, scale and gather."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if an exponent is outside of its limits")
    parser.add_argument("--plot", action="store_true", help="write docs/results/growth.png")
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS, help="rows of the largest table, if memory allows")
    parser.add_argument("--max-streamed-rows", type=int, default=MAX_STREAMED_ROWS, help="rows of the largest streamed table")
    arguments = parser.parse_args()
    rows, columns, streamed = by_rows(arguments.max_rows), by_columns(), by_streamed_rows(arguments.max_streamed_rows)
    for name, seconds in (("rows", rows), ("streamed rows", streamed), ("columns", columns)):
        for size, value in seconds.items():
            print(f"{size:>12,} {name}: {value:.4f} s of CPU", flush=True)
    measurements = list(_measurements(rows, columns, streamed))
    for measurement in measurements:
        print(measurement.line)
    if arguments.plot:
        draw(rows, columns, streamed, PICTURE)
    return int(arguments.check and not all(measurement.ok for measurement in measurements))


def measure_growth(max_rows: int = MAX_ROWS) -> Iterator[Measurement]:
    """Yield the exponents, each with its upper limit."""
    yield from _measurements(by_rows(max_rows), by_columns(), by_streamed_rows())


def _measurements(
    rows: Mapping[int, float], columns: Mapping[int, float], streamed: Mapping[int, float]
) -> Iterator[Measurement]:
    for name, seconds in (("rows", rows), ("streamed rows", streamed)):
        slope = exponent(seconds)
        yield Measurement(f"exponent of the time in {name}, {min(seconds):,} to {max(seconds):,}", slope, "", 1.1, least=0.9)
    yield Measurement(f"exponent of the time in columns, {min(columns):,} to {max(columns):,}", exponent(columns), "", 2.1)


def exponent(seconds: Mapping[int, float]) -> float:
    """Return the slope of the line through the logarithms of sizes and seconds."""
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def by_rows(max_rows: int = MAX_ROWS) -> dict[int, float]:
    """Return the seconds of tables whose numbers of rows grow, as far as memory allows."""
    from dpbench.base.memory import machine_memory

    most = min(max_rows, machine_memory() // 2 // (BYTES_PER_VALUE * COLUMNS))
    steps = round(2 * math.log10(most / MIN_ROWS)) + 1
    return {n: least_seconds(n, COLUMNS) for n in np.geomspace(MIN_ROWS, most, steps).round().astype(int).tolist()}


def by_streamed_rows(max_rows: int = MAX_STREAMED_ROWS) -> dict[int, float]:
    """Return the seconds of streamed tables, each a file that is generated, measured and removed."""
    steps = max(2, round(2 * math.log10(max_rows / MIN_STREAMED_ROWS)) + 1)
    sizes = np.geomspace(min(MIN_STREAMED_ROWS, max_rows // 10), max_rows, steps).round().astype(int).tolist()
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        needed, free = 8 * COLUMNS * sizes[-1], shutil.disk_usage(folder).free
        if free < needed + SPARE_BYTES:
            raise SystemExit(f"A table of {sizes[-1]:,} rows takes {needed / 1e9:.1f} GB of disk. There are {free / 1e9:.1f} GB.")
        seconds = {}
        for n in sizes:
            path = Path(folder, f"{n}.parquet")
            write_table(path, n)
            seconds[n] = _least([*streamed_table(path), "splits.by=blocks"], 1, reread=True)
            path.unlink()
    return seconds


def by_columns() -> dict[int, float]:
    """Return the seconds of tables whose numbers of columns grow."""
    return {d: least_seconds(ROWS, d) for d in WIDTHS}


def least_seconds(rows: int, columns: int) -> float:
    """Return the CPU seconds of a repeat; the smallest of a few, because other work on the machine only adds to them."""
    table = ["dataset=gaussian", f"dataset.n={rows}", f"dataset.d={columns - 1}", "model.intercept=false"]
    return _least(table, max(1, min(MAX_REPEATS, VALUES // (rows * columns))))


def _least(table: Sequence[str], repeats: int, *, reread: bool = False) -> float:
    """Return the least CPU seconds of a repeat of an FM cell on a table, which is read in every round or in the first one."""
    from dpbench.cells import loading, unit_runner
    from dpbench.cells.unit_runner import run_unit
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    units = plan(grid_points([*table, "mechanism=fm", f"splits.repeats={repeats}", "audit.level=none"])).units()
    times = []
    for _ in range(ROUNDS):
        unit_runner.last_runner.clear()
        if reread:
            loading.last_rows.clear()
        start = time.process_time()
        errors = [result.error for unit in units for result in run_unit(unit)]
        times.append((time.process_time() - start) / repeats)
        assert not any(errors), errors
    unit_runner.last_runner.clear()
    loading.last_rows.clear()  # before the next table is drawn
    return min(times)


def draw(rows: Mapping[int, float], columns: Mapping[int, float], streamed: Mapping[int, float], path: Path) -> None:
    """Write a picture of rows and columns on logarithmic axes, each curve with the line of its exponent."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from dpbench.report.figures import style

    with style.styled():
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        panels: Sequence[tuple[str, Mapping[str, Mapping[int, float]], int]] = (
            (f"rows (of {COLUMNS} columns)", {"in memory": rows, "streamed": streamed}, 1),
            (f"columns (of {ROWS:,} rows)", {"in memory": columns}, 2),
        )
        for axes, (name, curves, power) in zip(figure.subplots(1, 2), panels, strict=True):
            for way, seconds in curves.items():
                sizes, last = np.array(list(seconds)), max(seconds)
                axes.loglog(sizes, list(seconds.values()), "o-", label=f"{way}: exponent {exponent(seconds):.2f}")
                line = seconds[last] * (sizes / last) ** power
                axes.loglog(sizes, line, "--", color=style.GREY, label=f"exponent {power}" if way == "in memory" else None)
            if power == 2:  # less than a decade: the sizes themselves say more than powers of ten
                axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set(xlabel=name, ylabel="CPU seconds of a repeat")
            axes.legend()
        style.save(figure, path.with_suffix(""), ("png",))


if __name__ == "__main__":
    sys.exit(main())
