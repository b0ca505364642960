"""Real servers for tests: PostgreSQL on a Unix socket, and MLflow's own on 127.0.0.1, which can be stopped and started again."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

STARTS_WITHIN_SECONDS = 60.0


class Postgres:
    """A PostgreSQL server with an empty database ``mlflow``, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = f"postgresql+psycopg2://postgres@/mlflow?host={folder}"
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()
        self._run("createdb", "-h", str(folder), "-U", "postgres", "mlflow")

    @staticmethod
    def why_not() -> str:
        """Return why it cannot run here, or an empty text."""
        if not glob.glob("/usr/lib/postgresql/*/bin"):
            return "Debian's postgresql is not installed"
        if os.geteuid() == 0 and not shutil.which("runuser"):
            return "PostgreSQL refuses to run as root, and there is no runuser"
        return ""

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*as_postgres, f"{sorted(glob.glob('/usr/lib/postgresql/*/bin'))[-1]}/{program}", *arguments]
        subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.DEVNULL, timeout=60)


class MlflowServer:
    """MLflow's tracking server with a SQLite file, always on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        environment = {name: text for name, text in os.environ.items() if not name.startswith("MLFLOW_")}
        environment |= {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        store = [
            "--backend-store-uri",
            f"sqlite:///{self.folder / 'server.db'}",
            "--artifacts-destination",
            str(self.folder / "art"),
        ]
        command = [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--workers",
            "1",
            *store,
        ]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + STARTS_WITHIN_SECONDS
        while time.monotonic() < end:
            try:
                with urlopen(f"{self.uri}/health", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.1)
        raise TimeoutError((self.folder / "server.log").read_text()[-2000:])

    def stop(self) -> None:
        """End the server and its workers, which are a process group of their own."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
