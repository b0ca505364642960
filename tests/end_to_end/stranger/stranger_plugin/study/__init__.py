"""A paper with one figure and one claim, in the words of dpbench's contract."""

from __future__ import annotations

from pathlib import Path

from dpbench import Paper, hookimpl


@hookimpl
def dpbench_papers() -> list[Paper]:
    return [Paper("stranger2024", "A Stranger 2024: Shrinking", Path(__file__).parent)]
