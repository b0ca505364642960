"""The presets and claims of Fang et al. 2019: Regression Analysis with Differential Privacy Preserving."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl

TITLE = "Fang et al. 2019: Regression Analysis with Differential Privacy Preserving"


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("fang2019", TITLE, Path(__file__).parent)]
