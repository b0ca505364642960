"""The owner's path: every command of docs/owners.md, in its order, from a CSV to a prediction that MLflow serves."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas
import pytest
import yaml

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "owners.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^>]+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = list(BLOCK.finditer(PAGE))
PORT = "5001"
START_SECONDS = 180.0
NEW_ROWS = pandas.DataFrame({"age": [40, 25, 69], "town": ["north", "west", "south"], "years_employed": [12, 1, 44.5]})


def commands(mark: str | None) -> list[str]:
    """The lines of the blocks with a mark, or of those without any."""
    blocks = [block for block in BLOCKS if block["language"] == "sh" and block["mark"] == mark]
    return "".join(block["text"] for block in blocks).splitlines()


def test_the_page_has_no_block_that_is_not_run() -> None:
    assert len(BLOCKS) == PAGE.count("\n```") / 2
    marks = {(block["language"], block["mark"]) for block in BLOCKS}
    assert marks == {
        ("bash", "not run in tests: it needs a network"),
        ("yaml", "file: people.yaml"),
        *(("sh", mark) for mark in (None, "serve", "ask", "needs: onnx")),
    }
    assert all(line.startswith("python -m dpbench ") for line in commands(None) + commands("needs: onnx"))


def run(line: str, folder: Path) -> str:
    """Type a line in a folder: what it prints."""
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def environment() -> dict[str, str]:
    """The environment of a person who has activated this interpreter's folder and set nothing else."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "DPBENCH_"))}
    key = {name: os.environ[name] for name in ("DPBENCH_KEY_FILE",) if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**own, **key, "PATH": path, "MLFLOW_DISABLE_TELEMETRY": "true"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands before the server print, by command; the key ``folder`` names the folder they ran in."""
    for package in ("opendp", "dp_accounting"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'dp-regression-bench[secure,accounting]'")
    folder = tmp_path_factory.mktemp("owner")
    generator = np.random.default_rng(0)
    age, years = generator.integers(18, 71, 5000), generator.integers(0, 40, 5000)
    town = generator.choice(["north", "south", "west"], 5000)
    wage = 900 + 20 * age + 25 * years + 150 * (town == "north") + generator.normal(0, 250, 5000)
    people = pandas.DataFrame({"age": age, "town": town, "years_employed": years, "wage": wage.round(2)})
    people.to_csv(folder / "people.csv", index=False)
    NEW_ROWS.to_csv(folder / "new.csv", index=False)
    printed = {"folder": str(folder)}
    (edited,) = (block["text"] for block in BLOCKS if block["mark"] == "file: people.yaml")
    for line in commands(None):
        printed[line] = run(line, folder)
        if "data describe" in line:
            draft = yaml.safe_load((folder / "people.yaml").read_text(encoding="utf-8"))
            assert draft["from_data"] is True
            assert set(draft["columns"]) == set(yaml.safe_load(edited)["columns"])
            (folder / "people.yaml").write_text(edited, encoding="utf-8")
    return printed


def test_the_owner_gets_a_checked_model_whose_predictions_mlflow_serves(released: dict[str, str]) -> None:
    folder = Path(released["folder"])
    verified = next(text for line, text in released.items() if " verify " in line)
    assert {line.split()[0] for line in verified.splitlines()} == {"ok"}
    chosen = next(text for line, text in released.items() if " choose " in line)
    assert "Typical: ε = " in chosen
    assert "No row was read" in chosen
    spent = next(text for line, text in released.items() if line.endswith("budget people.csv"))
    assert "ε = 1 spent" in spent
    assert "ceiling 3" in spent
    assert "wages.json (written)" in spent
    card = (folder / "wages_card.md").read_text(encoding="utf-8")
    assert "python -m dpbench release mechanism=ssp" in card
    assert str(folder) not in card
    entry = next(text for line, text in released.items() if "registry=" in line)
    assert "deployment.basic.data_curators" in entry
    predicted = predictions(folder)
    (serve,), (as_csv, as_json) = commands("serve"), commands("ask")
    with serving(serve, folder) as port:
        answer = json.loads(run(as_csv.replace(PORT, port), folder))["predictions"]
        (row,) = json.loads(run(as_json.replace(PORT, port), folder))["predictions"]
    assert [each["predicted_wage"] for each in answer] == predicted, "bit for bit"
    assert row["predicted_wage_low"] < row["predicted_wage"] < row["predicted_wage_high"]


def test_the_onnx_file_predicts_the_same(released: dict[str, str]) -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'dp-regression-bench[onnx]'")
    import onnxruntime

    folder = Path(released["folder"])
    for line in commands("needs: onnx"):
        run(line, folder)
    cells = {name: NEW_ROWS[name].to_numpy(object if name == "town" else float).reshape(-1, 1) for name in NEW_ROWS}
    (found,) = onnxruntime.InferenceSession(folder / "wages.onnx").run(["predicted_wage"], cells)
    np.testing.assert_allclose(found[:, 0], predictions(folder), rtol=1e-9)


def predictions(folder: Path) -> list[float]:
    """What ``predict`` wrote, to the last bit: pandas may lose some."""
    head, *lines = (folder / "predictions.csv").read_text(encoding="utf-8").splitlines()
    assert head == '"predicted_wage"'
    return list(map(float, lines))


@contextmanager
def serving(line: str, folder: Path) -> Iterator[str]:
    """Run the page's server on a free port until the context ends; yield the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", line.replace(PORT, port)],
            cwd=folder,
            env=environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(int(port)):
            assert process.poll() is None, (folder / "server.log").read_text()
            assert time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.2)
        yield port
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):  # the server and its worker are one group of processes
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)


def answers(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
