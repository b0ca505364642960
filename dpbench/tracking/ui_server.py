"""Run MLflow's own UI on a store, on this machine only, for as long as somebody looks at it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from dpbench.base.errors import Refused
from dpbench.tracking.connection import missing, tidy
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.store_uri import without_login
from dpbench.tracking.sweep_reader import sweeps
from dpbench.tracking.ui_view import link, save_view, sweep_link

HOST = "127.0.0.1"
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Server:
    """MLflow's server, running as our child."""

    address: str
    process: subprocess.Popen[bytes]


def show(uri: str | None, experiment: str, port: int, say: Callable[[str], None], *, browser: bool = False) -> None:
    """Say where the runs are to be seen; for a store that is not a server itself, serve it until interrupted."""
    with open_store(uri, experiment, create=False) as store:
        pages = Pages(store.experiment_id, newest_sweep(store), save_view(store))
    if store.is_server:
        say(pages.lines(without_login(store.uri)))
        return
    try:
        with serving(store.uri, port) as server:
            say(f"Showing {store.shown}\n{pages.lines(server.address)}\nPress Ctrl-C to stop.")
            if browser:
                webbrowser.open(pages.runs(server.address))
            server.process.wait()
            raise Refused(f"MLflow's server on {server.address} ended by itself.")
    except KeyboardInterrupt:
        return


@dataclass(frozen=True)
class Pages:
    """The pages worth opening, wherever the server is."""

    experiment_id: str
    sweep: str | None
    view: str | None

    def runs(self, host: str) -> str:
        return link(host, self.experiment_id, self.view)

    def lines(self, host: str) -> str:
        last = [f"Last sweep:  {sweep_link(host, self.experiment_id, self.sweep)}"] if self.sweep else []
        return "\n".join([f"All runs:    {self.runs(host)}", *last])


@contextmanager
def serving(uri: str, port: int) -> Iterator[Server]:
    """MLflow's server for a store, answering, as a context: every process it starts ends with it."""
    address = f"http://{HOST}:{_free_port(port)}"
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder, _terminable():
        log = Path(folder, "server.log")
        process = _start(uri, address, Path(folder), log)
        try:
            _wait(process, address, log)
            yield Server(address, process)
        finally:
            _stop(process)
            tidy(uri)


def newest_sweep(store: Store) -> str | None:
    """The newest sweep, if there is one; an experiment without cells has nothing to show and is refused."""
    if not store.client.search_runs([store.experiment_id], "tags.`dpbench.kind` = 'cell'", max_results=1):
        raise missing(store.uri, f"are no runs of the experiment {store.experiment!r}")
    found = sweeps(store)
    return str(found[0].info.run_id) if found else None


def _free_port(first: int) -> int:
    """The first port from this one on that nobody listens on."""
    for port in range(first, min(first + 100, 65536)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((HOST, port))
                return port
    raise Refused(f"None of the ports {first} to {min(first + 99, 65535)} of {HOST} is free. Choose another with --port.")


def _start(uri: str, address: str, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    # The URI goes through the environment: it may hold a password, and everybody can read a command line.
    environment = {
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": uri,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    environment.pop("MLFLOW_TRACKING_URI", None)
    port = address.rpartition(":")[2]
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", port, "--workers", "1"]
    with log.open("wb") as output:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    opener = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        # Every server names its address once it listens: an answer alone may be that of another one, which took the port.
        if address in log.read_text(errors="replace"):
            with suppress(URLError, OSError), opener.open(f"{address}/health", timeout=2):
                return
        time.sleep(0.1)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    raise Refused(f"MLflow's server did not start on {address}: {lines[-1] if lines else 'it said nothing'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and the workers it started: they are a process group of their own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
            if not _alive(process.pid):
                return


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


@contextmanager
def _terminable() -> Iterator[None]:
    """Treat a request to terminate or a closed terminal as Ctrl-C, so that the server never outlives us."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
