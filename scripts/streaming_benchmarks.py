"""What a table larger than memory costs: peak memory, and CPU time relative to a bare scan. Run by scripts/benchmark.py.

    python scripts/streaming_benchmarks.py --rows 5000000

writes a Parquet file of random numbers into a temporary folder, streams it in a process of its own (one hold-out of blocks, two
mechanisms, two values of ε), and scans it in another one, which adds up its Gram matrix and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sweep_benchmarks import Measurement

ROWS = 50_000_000
COLUMNS = 14
ROW_GROUP = 250_000
BATCH_ROWS = 1 << 17
MAX_MEGABYTES = 1_200
MAX_RATIO = 2.0
SPARE_BYTES = 10**9
NAMES = tuple(f"x{index}" for index in range(COLUMNS - 1))


def measure_streaming(rows: int = ROWS) -> Iterator[Measurement]:
    """Yield the memory and the time of streaming a table of this many rows. Its file is removed afterwards."""
    needed = 8 * COLUMNS * rows
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        free = shutil.disk_usage(folder).free
        if free < needed + SPARE_BYTES:
            raise SystemExit(f"A table of {rows:,} rows takes {needed / 1e9:.1f} GB of disk. {folder} has {free / 1e9:.1f} GB.")
        path = Path(folder, "rows.parquet")
        write_table(path, rows)
        bare = [_child("bare", path)["seconds"]]
        streamed = _child("streamed", path)
        bare.append(_child("bare", path)["seconds"])  # before and after, because other programs run, too
    table, scan = f"{rows / 1e6:g} million rows x {COLUMNS}", sum(bare) / len(bare)
    yield Measurement(f"streaming {table}, peak memory of the process", streamed["megabytes"], "MB", MAX_MEGABYTES)
    yield Measurement(f"bare scan with Gram of {table}", scan, "s of CPU")
    yield Measurement(f"streaming {table}, 4 cells on one hold-out", streamed["seconds"], "s of CPU")
    yield Measurement("streaming / bare scan with Gram", streamed["seconds"] / scan, "", MAX_RATIO)
    yield Measurement("the file's checksum, which names its cells", streamed["checksum"], "s of CPU")


def write_table(path: Path, rows: int) -> None:
    """Write uniform features and a target that depends on them, a row group at a time."""
    import pyarrow
    from pyarrow import parquet

    generator = np.random.default_rng(0)
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in (*NAMES, "y")])
    with parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, rows, ROW_GROUP):
            x = generator.uniform(-1.02, 1.02, (len(NAMES), min(ROW_GROUP, rows - start)))
            y = np.tanh(x.sum(axis=0) / 4 + generator.normal(0, 0.1, x.shape[1]))
            writer.write_batch(pyarrow.record_batch([*x, y], schema=schema))


def streamed_table(path: Path) -> list[str]:
    """Return the overrides that name the table as a streamed dataset."""
    bounds = ",".join(f"{name}:[-1,1]" for name in (*NAMES, "y"))
    return ["dataset=table", f"dataset.path={path}", "dataset.target=y", f"dataset.bounds={{{bounds}}}", "dataset.stream=true"]


def _child(what: str, path: Path) -> dict[str, float]:
    """Return what a process of its own measures."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--child", what, "--path", str(path)]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _scan(path: Path) -> dict[str, float]:
    """Read all rows with pyarrow, a batch at a time, and add up their Gram matrices."""
    from pyarrow import parquet

    start, gram = time.process_time(), np.zeros((COLUMNS + 1, COLUMNS + 1))
    with parquet.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
            z = np.column_stack([np.ones(batch.num_rows), *(column.to_numpy() for column in batch.columns)])
            gram += z.T @ z
    return {"seconds": time.process_time() - start}


def _stream(path: Path) -> dict[str, float]:
    """Plan and run four cells, after the imports and the checksum of the file."""
    from dpbench.files.download_cache import user_file_checksum
    from dpbench.sweeps.execution import run_unrecorded
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    splits = ["splits=holdout", "splits.repeats=1", "splits.by=blocks"]
    points = grid_points(
        [*streamed_table(path), *splits, "mechanism=fm,ssp", "epsilon=0.1,1", "audit.level=none", "engine=serial"]
    )
    start = time.process_time()
    user_file_checksum(str(path))
    checksum, start = time.process_time() - start, time.process_time()
    records = run_unrecorded(plan(points), points[0].config)
    seconds: Any = time.process_time() - start
    assert [record.state for record in records] == ["run"] * 4, [record.reason for record in records]
    return {"seconds": seconds, "checksum": checksum, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a limit is exceeded")
    parser.add_argument("--child", choices=["bare", "streamed"], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(_scan(arguments.path) if arguments.child == "bare" else _stream(arguments.path)))
        return 0
    exceeded = False
    for measurement in measure_streaming(arguments.rows):
        print(measurement.line, flush=True)
        exceeded |= not measurement.ok
    return int(exceeded and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
