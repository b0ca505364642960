"""The measurements of growth: exponents of powers, of tables that fit into memory."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.base import memory


@pytest.fixture(scope="module")
def growth() -> ModuleType:
    return load_script("growth_benchmarks")


def test_the_exponent_of_a_power_is_that_power(growth: ModuleType) -> None:
    assert growth.exponent({size: 3e-9 * size**1.5 for size in (10, 100, 1000)}) == pytest.approx(1.5)


def test_no_table_takes_more_than_half_of_the_memory(growth: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**9)
    monkeypatch.setattr(growth, "least_seconds", lambda rows, columns: float(rows))
    sizes = list(growth.by_rows(10**8))
    assert sizes[0] == growth.MIN_ROWS
    assert 10**8 < sizes[-1] * growth.COLUMNS * growth.BYTES_PER_VALUE <= 10**9 / 2


def test_exponents_beyond_their_limits_are_not_ok(growth: ModuleType) -> None:
    def verdicts(rows: float, columns: float, streamed: float = 1.0) -> list[bool]:
        measured = [{size: float(size) ** power for size in (10, 100)} for power in (rows, columns, streamed)]
        return [measurement.ok for measurement in growth._measurements(*measured)]

    assert verdicts(1.0, 2.0) == [True, True, True]
    assert verdicts(1.2, 2.2) == [False, True, False]
    assert verdicts(0.8, 1.0, 1.2) == [False, False, True]


def test_one_repeat_of_a_small_table_takes_seconds(growth: ModuleType) -> None:
    assert growth.least_seconds(500, 4) > 0


@pytest.mark.slow
def test_streamed_tables_are_generated_measured_and_removed(
    growth: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seconds = growth.by_streamed_rows(400_000)
    assert list(seconds) == [40_000, 400_000]
    assert min(seconds.values()) > 0
    assert list(tmp_path.iterdir()) == []
