"""The leaderboard: every private mechanism on real tables at the same accounted ε, and the scores that it is shipped with."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl

TITLE = "Leaderboard: every private mechanism on real tables at the same accounted ε"


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("leaderboard", TITLE, Path(__file__).parent)]
