"""A sweep that a signal ends, however rudely, is finished by the same command as if nothing had happened."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from script_loader import load_script

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")


@pytest.fixture(scope="module")
def kill_sweeps() -> ModuleType:
    return load_script("kill_sweeps")


@pytest.fixture(scope="module")
def expected(kill_sweeps: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return kill_sweeps.undisturbed(tmp_path_factory.mktemp("undisturbed"))


EXTRAS = {"dask": "distributed", "ray": "ray"}


@pytest.mark.parametrize("engine", ["serial", "local", "dask", "ray", "files"])
@pytest.mark.parametrize(("name", "moment"), [("SIGKILL", 70), ("SIGTERM", 1), ("SIGHUP", 120)])
def test_the_same_command_finishes_a_sweep_that_a_signal_ended(
    kill_sweeps: ModuleType, expected: Any, tmp_path: Path, engine: str, name: str, moment: int
) -> None:
    if engine in EXTRAS and importlib.util.find_spec(EXTRAS[engine]) is None:
        pytest.skip(f"{engine.title()} is not installed: pip install -e '.[{engine}]'")
    assert list(kill_sweeps.faults(tmp_path, engine, name, moment, expected)) == []
