"""The presets and claims of Park and Welling 2016: A note on privacy preserving iteratively reweighted least squares."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl

TITLE = "Park and Welling 2016: A note on privacy preserving iteratively reweighted least squares"


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("park2016", TITLE, Path(__file__).parent)]
