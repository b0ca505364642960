"""What commands take before and around the work that they are asked for: CPU seconds. Run by scripts/benchmark.py, or alone.

    python scripts/startup_benchmarks.py            print the seconds
    python scripts/startup_benchmarks.py --check    also fail if one exceeds its limit

Each command runs in a process of its own, several times; the smallest number counts, because other work on the machine only
adds to it. The cache folder is a temporary one.
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
        yield Measurement("--help", _least(rounds, folder, "--help"), "s of CPU", 0.5)
        yield Measurement("plugins", _least(rounds, folder, "plugins"), "s of CPU")
        yield Measurement("plan of the first command", _least(rounds, folder, "plan", *FIRST_COMMAND), "s of CPU")
        cold, warm, again = [], [], []
        for _ in range(rounds):
            shutil.rmtree(folder / "cache", ignore_errors=True)
            cold.append(_seconds(_empty(folder / "work"), *FIRST_COMMAND))
            warm.append(_seconds(_empty(folder / "work"), *FIRST_COMMAND))
            again.append(_seconds(folder / "work", *FIRST_COMMAND))
        yield Measurement("the first command, without a cached empty store", min(cold), "s of CPU", 5.5)
        yield Measurement("the first command, with one", min(warm), "s of CPU", 3.5)
        yield Measurement("the same command again", min(again), "s of CPU", 2.0)


def _least(rounds: int, folder: Path, *arguments: str) -> float:
    return min(_seconds(_empty(folder / "work"), *arguments) for _ in range(rounds))


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _seconds(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds of a command in a folder, with its cache next to the folder."""
    own = ("MLFLOW_TRACKING_URI", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    environment["DPBENCH_CACHE"] = str(folder.parent / "cache")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "dpbench", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
