"""Scores made up for tests of the leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpbench.report.leaderboard.scores import Score


@pytest.fixture(scope="session")
def score() -> Callable[..., Score]:
    """A score of a cell that ran and lost this share of the way, with an interval of two points at either side."""

    def made(mechanism: str, lost: float | None, table: str = "t1", epsilon: float = 1.0, **more: Any) -> Score:
        if lost is None:
            return Score("linear", table, mechanism, epsilon, **{"state": "pruned", "reason": "It is too wide.", **more})
        ends = {"share_lost": lost, "share_lost_low": lost - 0.02, "share_lost_high": lost + 0.02}
        spread = {"share_lost_p20": lost - 0.1, "share_lost_p80": lost + 0.1}
        errors = {"error_no_privacy": 0.1, "error_mean_predictor": 0.2, "rows": 1000, "columns": 5, "runs": 100}
        facts = {"state": "run", "guarantee": "sound", "fit_seconds": 0.5, "delta": 1e-6}
        return Score("linear", table, mechanism, epsilon, **{**facts, **ends, **spread, **errors, **more})

    return made
