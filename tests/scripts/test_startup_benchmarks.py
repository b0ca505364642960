"""The measurements of start-up: each command that a user waits for, and the limits that it has to keep."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script


@pytest.fixture(scope="module")
def startup() -> ModuleType:
    return load_script("startup_benchmarks")


def test_every_command_that_has_a_limit_is_measured(startup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[bool, bool, tuple[str, ...]]] = []

    def seconds(folder: Path, *arguments: str) -> float:
        cache = folder.parent / "cache"
        calls.append((cache.exists(), any(folder.iterdir()), arguments))
        cache.mkdir(exist_ok=True)
        (folder / "mlflow.db").touch()
        return 1.0 + len(calls)

    monkeypatch.setattr(startup, "_seconds", seconds)
    monkeypatch.setattr(startup, "_process_seconds", lambda *_: 1.25 * startup.MLFLOW_SECONDS)
    measured = {measurement.name: measurement for measurement in startup.measure_startup(1)}
    limits = [measurement.limit for measurement in measured.values() if measurement.limit]
    assert limits == [0.5, 5.5, 3.5, 2.0]
    cold, warm, again = calls[-3:]  # the yardstick is no call of dpbench
    assert cold == (False, False, startup.FIRST_COMMAND)
    assert warm == (True, False, startup.FIRST_COMMAND)
    assert again == (True, True, startup.FIRST_COMMAND)
    values = [measured[name].value for name in list(measured)[-6:]]
    assert values == [5.0, 5.0 / 1.25, 6.0, 6.0 / 1.25, 7.0, 7.0 / 1.25], "seconds here, and those of the limits' machine"


def test_the_smallest_factor_counts_and_a_faster_machine_gets_the_limits_themselves(startup: ModuleType) -> None:
    assert startup.slowness(1.3 * startup.MLFLOW_SECONDS) == pytest.approx(1.3)
    assert startup.slowness(3 * startup.MLFLOW_SECONDS) == startup.MAX_FACTOR
    assert startup.slowness(0.5 * startup.MLFLOW_SECONDS) == 1


def test_a_command_that_fails_is_not_taken_for_a_fast_one(startup: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="fmm"):
        startup._seconds(tmp_path, "plan", "mechanism=fmm")
