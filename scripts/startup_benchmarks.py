"""What commands take before and around the work that they are asked for: CPU seconds. Run by scripts/benchmark.py, or alone.

    python scripts/startup_benchmarks.py            print the seconds
    python scripts/startup_benchmarks.py --check    also fail if one exceeds its limit

Each command runs in a process of its own, several times; the smallest number counts, because other work on the machine only
adds to it. The cache folder is a temporary one.

The limits are seconds of the machine on which they were set. So the import of MLflow is measured in the same run, which has
nothing to do with dpbench's code, and each command is shown twice: in the seconds of this machine, and divided by how much slower
this machine is. The factor is the smaller of the two that are known, and never below 1:

- the seconds of the import here, divided by the most that they can have been there;
- that of the first command at one commit, from before any of its time was cut, which was measured on both machines.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sweep_benchmarks import Measurement

FIRST_COMMAND = ("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8,3.2")
"""The README's."""
ROUNDS = 3
MLFLOW_SECONDS = 0.85
"""The import of MLflow on the machine of the limits: 0.8 s, rounded, so at most this."""
MAX_FACTOR = 1.74
"""The first command before: 9.4 s on the machine that measures, and 5.4 s on the machine of the limits."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a number exceeds its limit")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of repetitions; the smallest number counts")
    arguments = parser.parse_args()
    exceeded = False
    for measurement in measure_startup(arguments.rounds):
        print(measurement.line, flush=True)
        exceeded |= not measurement.ok
    return int(exceeded and arguments.check)


def measure_startup(rounds: int = ROUNDS) -> Iterator[Measurement]:
    """Yield the CPU seconds of commands that a user waits for, those of the processes that they start included."""
    with tempfile.TemporaryDirectory(prefix="dpbench-") as name:
        folder = Path(name)
        shown = _least(rounds, folder, "--help")
        yield Measurement("plugins", _least(rounds, folder, "plugins"), "s of CPU")
        yield Measurement("plan of the first command", _least(rounds, folder, "plan", *FIRST_COMMAND), "s of CPU")
        imported, cold, warm, again = [], [], [], []
        for _ in range(rounds):  # the yardstick among the commands, because other work on the machine comes and goes
            shutil.rmtree(folder / "cache", ignore_errors=True)
            imported.append(_process_seconds(_empty(folder / "work"), "-c", "import mlflow"))
            cold.append(_seconds(_empty(folder / "work"), *FIRST_COMMAND))
            warm.append(_seconds(_empty(folder / "work"), *FIRST_COMMAND))
            again.append(_seconds(folder / "work", *FIRST_COMMAND))
        factor = slowness(min(imported))
        yield Measurement("yardstick: python -c 'import mlflow'", min(imported), "s of CPU")
        yield Measurement("this machine is slower than that of the limits by the factor", factor, "")
        yield from _measured("--help", shown, factor, 0.5)
        yield from _measured("the first command, without a cached empty store", min(cold), factor, 5.5)
        yield from _measured("the first command, with one", min(warm), factor, 3.5)
        yield from _measured("the same command again", min(again), factor, 2.0)


def slowness(imported: float) -> float:
    """Return how much slower this machine is than that of the limits, given its seconds for importing MLflow."""
    return max(1.0, min(imported / MLFLOW_SECONDS, MAX_FACTOR))


def _measured(name: str, seconds: float, factor: float, limit: float) -> Iterator[Measurement]:
    """Yield what was measured here, and what it would be on the machine of the limits."""
    yield Measurement(name, seconds, "s of CPU")
    yield Measurement(f"{name}, divided by the factor", seconds / factor, "s of CPU", limit)


def _least(rounds: int, folder: Path, *arguments: str) -> float:
    return min(_seconds(_empty(folder / "work"), *arguments) for _ in range(rounds))


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _seconds(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds of a command in a folder, with its cache next to the folder."""
    return _process_seconds(folder, "-m", "dpbench", *arguments)


def _process_seconds(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds of a Python process and of those that it starts."""
    own = ("MLFLOW_TRACKING_URI", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    environment["DPBENCH_CACHE"] = str(folder.parent / "cache")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
