"""The presets and claims of Dandekar, Basu and Bressan 2018: Differential Privacy for Regularised Linear Regression."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl

TITLE = "Dandekar, Basu and Bressan 2018: Differential Privacy for Regularised Linear Regression"


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("dandekar2018", TITLE, Path(__file__).parent)]
