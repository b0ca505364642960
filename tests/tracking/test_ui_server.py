"""The UI command serves the store, says where, and takes everything it started down with it; a server is a store too."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking import ui_server as ui
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import open_store
from dpbench.tracking.ui_server import _free_port, show

# a shell that runs the tests in the background makes them ignore interruptions
HEED_INTERRUPTIONS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
UI = f"{HEED_INTERRUPTIONS}; from dpbench.cli.ui import command; command()"


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def uri(folder: Path) -> str:
    uri = f"sqlite:///{folder}/mlflow.db"
    record = CellRecord("run", {"mechanism": "fm"}, metrics={"utility/rmse_median": 0.25}, key="a1")
    with open_store(uri) as store, Writer(store) as writer:
        parent = writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), "")
        writer.write(record, parent)
        writer.close_sweep(parent, "FINISHED", "")
    return uri


@pytest.fixture(scope="module")
def said(uri: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a user runs it, up to the line that says how to stop it."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", UI, "--uri", uri, "--port", str(unused_port())],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    yield process, "".join(lines)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    process.stdout.close()


def host(text: str) -> str:
    found = re.search(r"All runs: +(http://127\.0\.0\.1:\d+)/#/experiments/1/runs\?\S*workflowType=machine_learning", text)
    assert found, text
    return found[1]


def test_the_command_prints_the_link_of_a_server_that_answers(said: tuple[subprocess.Popen[str], str]) -> None:
    with urlopen(f"{host(said[1])}/health", timeout=10) as answer:
        assert answer.status == 200
    assert "Last sweep:" in said[1]


def test_a_server_is_a_store_like_any_other(
    said: tuple[subprocess.Popen[str], str],
    make_record: Callable[..., CellRecord],
    capsys: pytest.CaptureFixture[str],
    ids: Callable[..., dict[str, str]],
) -> None:
    with open_store(host(said[1]), "through the server") as store, Writer(store) as writer:
        parent = writer.open_sweep("s2", "a sweep", SweepRecord((), "command"), "")
        run_id = writer.write(make_record("b2"), parent).run_id
        writer.close_sweep(parent, "FINISHED", "done")
        assert ids(writer.finished(["b2"])) == {"b2": run_id}
        names = sorted(item.path for item in store.client.list_artifacts(run_id))
    assert names == ["cell.json", "config.yaml", "ledger.json", "runs.parquet"]
    assert capsys.readouterr().out == "", "MLflow's own lines about each run would drown the sweep's"
    lines: list[str] = []
    show(host(said[1]), "through the server", 5000, lines.append)
    assert host(said[1]) in lines[0], "its link is printed, and nothing is started"


def test_the_answer_of_another_server_is_not_taken_for_ours(
    said: tuple[subprocess.Popen[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, "_START_SECONDS", 0.3)
    log = tmp_path / "log"
    log.write_text("address already in use\n")
    with pytest.raises(Refused, match=r"did not start on .*: address already in use"):
        ui._wait(said[0], host(said[1]), log)


def test_an_interrupted_command_takes_its_server_with_it_and_leaves_only_the_store(
    said: tuple[subprocess.Popen[str], str], folder: Path
) -> None:
    process, text = said
    port = int(host(text).rpartition(":")[2])
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "nobody listens any more"
    assert set(os.listdir(folder)) <= {"mlflow.db", "mlartifacts"}


def test_an_experiment_without_runs_is_refused(database: Path) -> None:
    open_store(f"sqlite:///{database}", "empty").close()
    with pytest.raises(Refused, match="There are no runs of the experiment 'empty'"):
        show(f"sqlite:///{database}", "empty", 5000, print)


def test_a_port_that_is_taken_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        assert _free_port(port) > port


def test_a_hundred_ports_are_tried_and_none_beyond_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(Refused, match=r"None of the ports 5000 to 5099 of 127\.0\.0\.1 is free"):
        _free_port(5000)
    with pytest.raises(Refused, match="None of the ports 65530 to 65535 of"):
        _free_port(65_530)
