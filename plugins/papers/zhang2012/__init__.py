"""The presets and claims of Zhang et al. 2012: Functional Mechanism: Regression Analysis under Differential Privacy."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl

TITLE = "Zhang et al. 2012: Functional Mechanism: Regression Analysis under Differential Privacy"


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("zhang2012", TITLE, Path(__file__).parent)]
