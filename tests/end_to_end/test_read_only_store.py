"""A store without write permission can be read by every subcommand that reads, and nothing near it changes."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason="permissions do not hold for root"),
]
CELLS = ("mechanism=fm", "dataset=wine", "epsilon=0.5,1", "splits.repeats=1", "audit.level=none")
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def obey_permissions() -> None:
    """Take from root, in a child process, the capability to write where permissions forbid it."""
    if os.geteuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def dpbench(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "DPBENCH_"))}
    command = [sys.executable, "-m", "dpbench", *arguments]
    pipe = subprocess.PIPE
    # the child changes nothing but its own capabilities between fork and exec
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, preexec_fn=obey_permissions
    )


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = dpbench(folder, *arguments)
    out, err = process.communicate()
    return process.returncode, out, err


def files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a store of one sweep, in which nothing can be written."""
    folder = tmp_path_factory.mktemp("read only")
    assert run(folder, "-m", *CELLS, "engine=serial")[0] == 0
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in everything:
        path.chmod(path.stat().st_mode | 0o200)


def test_what_reads_a_store_works_without_write_permission_and_writes_nothing(store: Path, tmp_path: Path) -> None:
    before = files(store)
    code, out, _ = run(store, "compare", "latest", "latest", "--json")
    cells = json.loads(out)
    assert (code, [cell["verdict"] for cell in cells]) == (0, ["same", "same"])
    requests = {
        ("report", "--out", str(tmp_path / "report")): "2 cells",
        ("reproduce", cells[0]["run_after"]): "Same bits",
        ("claims", "fang2019"): "not run",
        ("plan", *CELLS): "2 already recorded",
    }
    for arguments, words in requests.items():
        code, out, err = run(store, *arguments)
        assert (code, err) == (0, ""), (arguments, code, err)
        assert words in out, (arguments, out)
    code, out, err = run(store, "mechanism=fm", "dataset=wine", "engine=serial")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "readonly database" in err
    assert files(store) == before


def test_the_ui_shows_a_store_without_write_permission(store: Path) -> None:
    before = files(store)
    process = dpbench(store, "ui")
    assert process.stdout is not None
    try:
        lines = iter(process.stdout.readline, "")
        address = next(line for line in lines if line.startswith("All runs:")).split()[2].partition("/#")[0]
        with urllib.request.urlopen(f"{address}/ajax-api/2.0/mlflow/experiments/get-by-name?experiment_name=dpbench") as answer:
            assert b'"dpbench"' in answer.read()
    finally:
        process.terminate()
        process.communicate()
    assert files(store) == before
