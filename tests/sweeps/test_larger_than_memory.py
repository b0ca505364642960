"""A table that is larger than the memory is streamed, and gives the numbers of the table in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyarrow = pytest.importorskip("pyarrow")
resource = pytest.importorskip("resource", reason="this system cannot limit the memory of a process")

ROWS = 3_000_000
FEATURES = 13
LIMIT_BYTES = 750 << 20
"""What a child may allocate after its imports. The scaled rows alone take 340 MB, and loading them three times as much."""

PROGRAM = """
    import json, resource, sys

    from dpbench.sweeps.execution import run_unrecorded
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.plan import plan

    limit, *keys = sys.argv[1:]
    if limit != "none":
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit), int(limit)))
    points = grid_points(keys)
    records = run_unrecorded(plan(points), points[0].config)
    print(json.dumps([
        [record.state, {name: value.hex() for name, value in record.metrics.items() if not name.startswith("time/")}]
        for record in records
    ]))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of three million rows, written a piece at a time."""
    from pyarrow import parquet

    file, generator = tmp_path_factory.mktemp("large") / "large.parquet", np.random.default_rng(0)
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in (*(f"x{index}" for index in range(FEATURES)), "y")])
    with parquet.ParquetWriter(file, schema, use_dictionary=False) as writer:
        for _ in range(ROWS // 100_000):
            x = generator.uniform(-1.1, 1.1, (FEATURES, 100_000))
            y = np.tanh(x.sum(axis=0) / 3 + generator.normal(0, 0.3, 100_000))
            writer.write_batch(pyarrow.record_batch([*x, y], schema=schema))
    return file


def run(path: Path, streamed: bool, limit: int | None) -> subprocess.CompletedProcess[str]:
    bounds = ",".join(f"{name}:[-1,1]" for name in (*(f"x{index}" for index in range(FEATURES)), "y"))
    table = ["dataset=table", f"dataset.path={path}", "dataset.target=y", f"dataset.bounds={{{bounds}}}"]
    splits = ["splits=holdout", "splits.repeats=2", "splits.by=blocks", f"dataset.stream={str(streamed).lower()}"]
    keys = ["mechanism=fm,ssp,no_privacy", "epsilon=0.1", "engine=serial"]
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(limit or "none"), *table, *splits, *keys]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def numbers(child: subprocess.CompletedProcess[str]) -> Any:
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.long
def test_a_table_larger_than_the_memory_gives_the_numbers_of_the_table_in_memory(path: Path) -> None:
    failed = run(path, streamed=False, limit=LIMIT_BYTES)
    assert failed.returncode != 0, "the table would fit into this memory"
    assert "MemoryError" in failed.stderr
    streamed = numbers(run(path, streamed=True, limit=LIMIT_BYTES))
    assert [state for state, _ in streamed] == ["run"] * 3
    assert streamed == numbers(run(path, streamed=False, limit=None))
