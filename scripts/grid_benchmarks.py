"""What the papers' own figures take in full size: processor seconds, and the memory of the largest process.

    python scripts/grid_benchmarks.py                    every figure that a paper prints, one after the other: about 12 minutes
    python scripts/grid_benchmarks.py zhang2012/fig6     these presets alone

Each preset is a command of its own in an empty folder, with audits, records and its report. All of them write into one store, so
that cells that two figures share are run once. Run by ``scripts/benchmark.py --only grids``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sweep_benchmarks import Measurement

FIGURES = (
    *(f"zhang2012/fig{number}" for number in range(4, 10)),
    *(f"dandekar2018/fig{number}" for number in range(1, 6)),
    *(f"fang2019/fig{number}" for number in range(3, 10)),
    "park2016/fig1",
)
"""The 19 figures that the papers print."""
CORES = 2
MAX_MINUTES = {"zhang2012/fig6": 3}
"""Minutes that a figure may take on two cores."""
MAX_TOTAL_MINUTES = 12
MAX_MEGABYTES = 1_200


def measure_grids(presets: Sequence[str] = ("zhang2012/fig6", *FIGURES)) -> Iterator[Measurement]:
    """Yield the seconds and the memory of each preset; and of all figures together, if they were asked for."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        for preset in dict.fromkeys(presets):
            seconds[preset], megabytes = _run(preset, Path(folder))
            minutes = MAX_MINUTES.get(preset)
            yield Measurement(preset, seconds[preset], "s of CPU", None if minutes is None else 60 * CORES * minutes)
            yield Measurement(f"{preset}, memory of the largest process", megabytes, "MB", MAX_MEGABYTES)
    if seconds.keys() >= set(FIGURES):
        total = sum(seconds[figure] for figure in FIGURES)
        yield Measurement("the 19 figures of the papers", total, "s of CPU", 60 * CORES * MAX_TOTAL_MINUTES)


def _run(preset: str, folder: Path) -> tuple[float, float]:
    """Run a preset in a process of its own; return the CPU seconds and the largest memory of it and its children, in MB."""
    command = [sys.executable, "-m", "dpbench", "-m", f"experiment={preset}", "engine=local"]
    command.append(f"tracking.uri=sqlite:///{folder / 'mlflow.db'}")
    with (folder / "output.txt").open("w+") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            output.seek(0)
            raise SystemExit(f"{preset} failed:\n{output.read()}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return usage.ru_utime + usage.ru_stime, kilobytes / 1024


if __name__ == "__main__":
    for measurement in measure_grids(sys.argv[1:] or ("zhang2012/fig6", *FIGURES)):
        print(measurement.line, flush=True)
