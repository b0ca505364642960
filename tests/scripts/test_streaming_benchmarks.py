"""The benchmark of tables larger than memory, on a small one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "streaming_benchmarks.py"


@pytest.mark.long
def test_it_prints_what_it_measures_and_leaves_no_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    environment = {"PATH": "", "TMPDIR": str(tmp_path), "DPBENCH_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(SCRIPT), "--rows", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("streaming 0.1 million rows x 14, peak memory of the process: ")
    assert list(tmp_path.glob("dpbench-*")) == []


def test_a_disk_that_is_too_small_is_refused_in_a_sentence() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--rows", str(10**12)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("A table of 1,000,000,000,000 rows takes 112000.0 GB of disk.")
