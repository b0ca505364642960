"""Intervals: how often those of each mechanism cover, on designs whose coefficients are known."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl

TITLE = "Intervals: how often confidence intervals from a private release cover the coefficients"


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("inference", TITLE, Path(__file__).parent)]
