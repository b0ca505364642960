"""Units run on Dask's workers: a cluster of our own leaves nothing behind, and a scheduler that runs already is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused, Unfinished
from dpbench.sweeps.engines.loop import run

pytest.importorskip("distributed", reason="Dask is not installed: pip install -e '.[dask]'")

from dpbench.sweeps.engines.dask import Dask

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]


@pytest.fixture
def cluster(do: Do, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A cluster with one worker that has two threads, as somebody else would have started it; it prints its address."""
    program = (
        "from distributed import LocalCluster; import sys\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(1, threads_per_worker=2, host='127.0.0.1', dashboard_address='127.0.0.1:0') as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        sys.stdin.read()\n"
    )
    (tmp_path / "cluster.py").write_text(program)
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, str(tmp_path / "cluster.py")], **streams) as running:
        yield running


@pytest.fixture
def scheduler(cluster: subprocess.Popen[str]) -> str:
    assert cluster.stdout is not None
    return cluster.stdout.readline().strip()


def test_a_scheduler_that_is_lost_ends_the_sweep_with_a_sentence(
    do: Do, scheduler: str, cluster: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted() -> None:
        for _ in run(Dask(None, scheduler), do, [*SQUARES[:2], ("sleep", 60), ("sleep", 61)]):
            cluster.kill()

    with pytest.raises(Unfinished, match="lost the process that hands out its units"):
        interrupted()
    assert caplog.text == ""


def test_a_scheduler_that_runs_already_is_used_and_left_alone(do: Do, scheduler: str, alive: Any) -> None:
    units = [("one at a time", number) for number in range(6)]
    results = dict(run(Dask(None, scheduler), do, units))
    assert set(results.values()) == {1}, "two threads of a process never run units at the same time"
    ((_, pid),) = run(Dask(None, scheduler), do, [("pid", 1)])
    assert alive(pid)


def test_an_address_where_nobody_answers_any_more_is_a_sentence(monkeypatch: pytest.MonkeyPatch, do: Do) -> None:
    monkeypatch.setattr("dpbench.sweeps.engines.dask.CONNECT_SECONDS", 1)
    with pytest.raises(Unfinished, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"):
        list(run(Dask(None, "tcp://127.0.0.1:1"), do, SQUARES))


def test_dask_that_is_not_installed_is_refused_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Refused, match=r"`pip install 'dp-regression-bench\[dask\]'`"):
        Dask(2, None)
