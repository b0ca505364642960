"""What is said about a cell that failed: why and where, without an error's own words where these may quote a private row."""

import traceback

from dpbench.base.errors import Refused, described
from dpbench.cells.cell import Cell
from dpbench.cells.time_limit import TimeIsOver
from dpbench.privacy.replay import Violation

CAUGHT = (Exception, SystemExit, TimeIsOver)
"""What a cell may end with: a plugin may raise anything. Only what is meant for the whole process passes."""


def explained(error: BaseException, cell: Cell, timeout: float | None = None) -> str:
    """Return what failed and where. The exception's own text may quote a row: it is left out where rows are private."""
    if isinstance(error, TimeIsOver):
        return f"It took longer than the {timeout:g} seconds that engine.timeout allows for a cell."
    silence = "what it says is left out, since it may quote a private row"
    return described(error, "" if isinstance(error, Refused | Violation) or _public(cell) else silence)


def traceback_of(error: BaseException, sentence: str) -> str:
    """Return the calls that led to an error, with their lines of code but no values, and the sentence about it."""
    return "".join(traceback.format_tb(error.__traceback__)) + sentence


def _public(cell: Cell) -> bool:
    try:
        return bool(cell.build("dataset").public)
    except Exception:  # noqa: BLE001  a dataset that cannot even be built is not known to be public
        return False
