"""Serve MLflow's UI for a store, on this machine only, until the user stops it."""

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
from urllib.request import ProxyHandler, build_opener

from dpbench.base.errors import Refused
from dpbench.base.interruption import interrupted_by_signals
from dpbench.records.names import DIGEST_KEY, KIND
from dpbench.tracking.connection import Missing, merge_write_ahead_log, readable
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.store_uri import without_login
from dpbench.tracking.sweep_files import sweeps
from dpbench.tracking.ui_view import link, save_view, sweep_link

HOST = "127.0.0.1"
STORE_IS_PRIVATE = "Some recorded tables are not public: this store is as private as they are."
ASSISTANT = "MLflow opens its Assistant on the first visit: close it with the × at its top, and it stays closed."
"""No link and no setting of MLflow 3 keeps it shut: the browser alone remembers that it was closed."""
PORT_ATTEMPTS = 100
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.2


def show(uri: str | None, experiment: str, port: int, say: Callable[[str], None], *, browser: bool = False) -> None:
    """Say where the runs can be seen. A store that is not a server is served until interrupted."""
    with open_store(uri, experiment, create=False) as store:
        private = next(store.search(f"tags.`{DIGEST_KEY}` != ''", limit=1), None) is not None
        pages = Pages(store.experiment_id, newest_sweep(store), save_view(store), private)
    if store.is_server:
        say(pages.lines(without_login(store.uri)))
        return
    with suppress(KeyboardInterrupt), serving(store.uri, port) as (address, process):
        say(f"Showing {store.shown}\n{pages.lines(address)}\n{ASSISTANT}\nPress Ctrl-C to stop.")
        if browser:
            webbrowser.open(pages.runs(address))
        while process.poll() is None:  # wait() would not heed Ctrl-C: polars, if MLflow imports it, lets system calls restart
            time.sleep(_POLL_SECONDS)
        raise Refused(f"MLflow's server on {address} ended by itself.")


@dataclass(frozen=True)
class Pages:
    """The pages to open first, on any server."""

    experiment_id: str
    sweep: str | None
    view: str | None
    private: bool = False
    """Whether a recorded table is not public."""

    def runs(self, host: str) -> str:
        return link(host, self.experiment_id, self.view)

    def lines(self, host: str) -> str:
        newest = f"\nLast sweep:  {sweep_link(host, self.experiment_id, self.sweep)}" if self.sweep else ""
        warning = f"\n{STORE_IS_PRIVATE}" if self.private else ""
        return f"All runs:    {self.runs(host)}{newest}{warning}"


@contextmanager
def serving(uri: str, port: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yield the address and the process of MLflow's server for a store. All that it started ends with the context."""
    port = _free_port(port)
    address = f"http://{HOST}:{port}"
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder, interrupted_by_signals():
        log = Path(folder, "server.log")
        process = _start(uri, port, Path(folder), log)
        try:
            _wait(process, address, log)
            yield address, process
        finally:
            _stop(process)
            merge_write_ahead_log(uri)


def newest_sweep(store: Store) -> str | None:
    """Return the run id of the newest sweep, if there is one. An experiment without cells is refused."""
    if next(store.search(f"tags.`{KIND}` = 'cell'", limit=1), None) is None:
        raise Missing(store.uri, f"are no runs of the experiment {store.experiment!r}")
    return next((str(run.info.run_id) for run in sweeps(store)), None)


def _free_port(first: int) -> int:
    """Return the first free port from this one on."""
    last = min(first + PORT_ATTEMPTS, 65536) - 1
    for port in range(first, last + 1):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((HOST, port))
                return port
    raise Refused(f"None of the ports {first} to {last} of {HOST} is free. Choose another with --port.")


def _start(uri: str, port: int, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    # The URI goes through the environment: it may contain a password, and every user of the machine can read a command line.
    options = {
        "MLFLOW_BACKEND_STORE_URI": readable(uri),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"} | options
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    with log.open("wb") as output:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        # The log names the address once our server listens. An answer alone may come from another server that took the port.
        if address in log.read_text(errors="replace"):
            with suppress(OSError), build_opener(ProxyHandler({})).open(f"{address}/health", timeout=2):
                return
        time.sleep(0.1)
    last_line = log.read_text(errors="replace").strip().rpartition("\n")[2]
    raise Refused(f"MLflow's server did not start on {address}: {last_line or 'its log is empty'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and its workers, which are one process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):  # the group is empty: all of them have ended
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
