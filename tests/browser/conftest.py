"""A real browser, a real sweep and MLflow's own server: what the tests of this folder look at."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mlflow.entities import Run

from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import read_sweep
from dpbench.tracking.ui_server import Pages, newest_sweep, serving
from dpbench.tracking.ui_view import ALL_CELLS, save_view

SETTINGS = ("MLFLOW_", "DPBENCH_", "HYDRA_")
COMMAND = ("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8,3.2", "dataset=wine", "splits.repeats=4")
SHOTS = "DPBENCH_TEST_SCREENSHOTS"
"""The folder for pictures of the pages; without it none are taken."""

SECONDS = 30.0
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps"),
    "--disable-features=IsolateSandboxedIframes",  # in a process of its own, the frame of the report keeps its errors to itself
    "--window-size=2600,1400",  # MLflow's table has only the columns that are in sight
)
CALM = """
if (window === window.top && location.protocol === "http:") {
  localStorage.setItem("mlflow.assistant.panelOpen_v1", "false");
  localStorage.setItem("mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true");
}
"""
"""Keeps shut the panel that covers a quarter of the window when MLflow is opened for the first time."""

NOT_OURS = {
    "who is logged in: MLflow's pages ask every server, and one without accounts has no answer": re.compile(
        r"http://127\.0\.0\.1:\d+/ajax-api/2\.0/mlflow/users/current - Failed to load resource: .* status of 404 .*"
    ),
    "MLflow's parallel coordinates are now and then drawn before their card has a height, and then again: a test looks at the "
    "second drawing": re.compile(
        r"http://127\.0\.0\.1:\d+/static-files/static/js/\S+\.chunk\.js 0 "
        r"Error: <(g|path|rect)> attribute (transform|d|height|x|y): (Expected (number|length), .*NaN.*"
        r'|Trailing garbage, "translate\(0,NaN\)"\.|A negative value is not valid\. .*)'
    ),
}
"""The only errors of a page that may be: they are MLflow's own, each with its reason."""

Found = TypeVar("Found")


@dataclass
class Browser:
    """Chromium, seen by what a person would look for."""

    driver: Any
    pages: int = 0

    def open(self, address: str) -> None:
        """Open a page anew, also where only what follows the # differs."""
        self.pages += 1
        self.driver.get(address.replace("/#", f"/?page={self.pages}#"))

    def find(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def wait(self, what: str, look: Callable[[], Found]) -> Found:
        """What a look finds, once it finds anything; elements that are replaced meanwhile are looked for again."""
        from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            wait = WebDriverWait(self.driver, SECONDS, 0.05, ignored_exceptions=[StaleElementReferenceException])
            return wait.until(lambda _: look())
        except TimeoutException:
            self.shot("failed")
            raise AssertionError(f"there is no {what} on {self.driver.current_url}:\n{self.text()[:2000]}") from None

    def one(self, selector: str) -> Any:
        return self.wait(selector, lambda: self.find(selector))[0]

    def text(self, selector: str = "body") -> str:
        return "\n".join(element.text for element in self.find(selector))

    def says(self, words: str, selector: str = "body") -> None:
        """Wait for words, however the page breaks its lines."""
        self.wait(f"{words!r}", lambda: words in " ".join(self.text(selector).split()))

    def drawn(self, selector: str) -> list[int]:
        """How many pixels wide the images are, once all of them are there."""
        script = "return [...document.querySelectorAll(arguments[0])].map(image => image.complete ? image.naturalWidth : 0)"

        def look() -> list[int]:
            widths: list[int] = self.run(script, selector)
            return widths if all(widths) else []

        return self.wait(f"image drawn at {selector!r}", look)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def errors(self) -> list[str]:
        """What the console has of errors since it was last asked, but for those that are MLflow's own."""
        messages = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [text for text in messages if not any(known.fullmatch(text) for known in NOT_OURS.values())]

    def shot(self, name: str) -> None:
        if SHOTS in os.environ:
            folder = Path(os.environ[SHOTS])
            folder.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(folder / f"{name}.png"))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install -e '.[dev]'")
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not binary:
        pytest.skip("there is no Chromium")
    driver = shutil.which("chromedriver")
    if not driver:
        pytest.skip("there is no ChromeDriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CALM})
        yield Browser(chrome)
    finally:
        chrome.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser with an empty page and an empty console."""
    chromium.driver.get("about:blank")
    chromium.driver.get_log("browser")
    yield chromium
    chromium.driver.switch_to.default_content()


@dataclass(frozen=True)
class Recorded:
    """A store with one sweep in it, and where its pages are."""

    folder: Path
    host: str
    pages: Pages
    cells: tuple[Run, ...]
    sweep: SweepRecord

    @property
    def parent(self) -> str:
        return self.sweep.run_id

    def artifact(self, path: str) -> str:
        """The address of the page that shows an artifact of the sweep."""
        runs = f"{self.host}/#/experiments/{self.pages.experiment_id}/runs"
        return f"{runs}/{self.parent}/artifacts/{path}?workflowType=machine_learning"


@pytest.fixture(scope="session")
def swept(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a person has typed the command of a sweep. It needs the browser, not to run where there is none."""
    folder = tmp_path_factory.mktemp("swept")
    dpbench(folder, *COMMAND)
    return folder


@pytest.fixture(scope="session")
def recorded(swept: Path) -> Iterator[Recorded]:
    """The sweep, served."""
    uri = f"sqlite:///{swept / 'mlflow.db'}"
    with open_store(uri, "dpbench", create=False) as store:
        pages = Pages(store.experiment_id, newest_sweep(store), save_view(store))
        cells = tuple(store.client.search_runs([store.experiment_id], ALL_CELLS))
        sweep = read_sweep(store)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with serving(uri, port) as (address, _):
        yield Recorded(swept, address, pages, cells, sweep)


def dpbench(folder: Path, *arguments: str) -> str:
    """What the command prints, run as a person runs it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    command = [sys.executable, "-m", "dpbench", *arguments]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="session")
def report(swept: Path) -> Path:
    """The page that the command writes from the records alone."""
    dpbench(swept, "report", "--out", "report")
    return swept / "report" / "report.html"


@pytest.fixture(scope="session")
def first_words(recorded: Recorded) -> str:
    """How the answer begins, as any page shows it."""
    from dpbench.report.summary import SweepSummary

    with suppress(IndexError):
        return " ".join(SweepSummary(recorded.sweep).answer[0].split()[:12])
    raise AssertionError("the sweep has no answer")
