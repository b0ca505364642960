"""A SQLite store for all tests here, an experiment of it for each, and cells to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store, open_store


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that exists: making one takes a second."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    open_store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def store(database: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    with open_store(f"sqlite:///{database}", request.node.name) as store:
        yield store


@pytest.fixture
def writer(store: Store) -> Iterator[Writer]:
    with Writer(store) as writer:
        yield writer


@pytest.fixture
def make_record() -> Callable[..., CellRecord]:
    def make(key: str = "a1", **changes: Any) -> CellRecord:
        parts: dict[str, Any] = {
            "config": {"mechanism": {"name": "fm", "ridge": 4.0}, "epsilon": 0.8, "seed": 0},
            "params": {"mechanism": "fm", "model": "linear", "dataset": "wine", "attack": "none", "epsilon": "0.8"},
            "tags": {"dpbench.sound": "true", "dpbench.leaks": "", "dpbench.version": "1"},
            "primary": "rmse",
            "metrics": {"utility/rmse_median": 0.25, "privacy/epsilon_accounted": 0.8, "time/cell_seconds": 2.0},
            "ledger": {"neighbours": "replace_one", "entries": [], "total": {"epsilon": 0.8, "delta": 0.0}, "leaks": []},
            "runs": {
                "repeat": np.array([0, 0, 1, 1]),
                "utility/rmse": np.array([0.1, 0.2, 0.3, 0.4]),
                "weights": np.arange(12.0).reshape(4, 3),
            },
        }
        parts |= changes
        detail = DetailInMemory(*(parts.pop(name, {}) for name in ("config", "ledger", "runs", "curves")))
        return CellRecord(parts.pop("state", "run"), key=key, detail=detail, **parts)

    return make


@pytest.fixture
def make_failure(make_record: Callable[..., CellRecord]) -> Callable[..., CellRecord]:
    def make(key: str = "f1", error: str = "LinAlgError: singular") -> CellRecord:
        return make_record(key, state="failed", metrics={}, ledger={}, runs={}, reason=error)

    return make


@pytest.fixture
def ids() -> Callable[[dict[str, CellRecord]], dict[str, str]]:
    """Only the run ids of what was found."""
    return lambda found: {key: recorded.run_id for key, recorded in found.items()}
