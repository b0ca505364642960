"""Run a component's code on made-up rows: an error or a warning is a failure, which says where it arose and what it quotes."""

import re
import traceback
import warnings
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dpbench.base.errors import Refused, described
from dpbench.data.scaling import Rows
from dpbench.privacy.ledger import Overspent
from dpbench.privacy.replay import Violation
from dpbench.testing.checks import Failure, NotApplicable

T = TypeVar("T")
QUOTED_CHARACTERS = len("0.1234")
"""Characters of a number in a text that are no coincidence."""
MIN_QUOTED = 0.001
"""Smaller numbers begin with zeros, which any text may contain."""
CORE = re.compile(r"dpbench\.(?!plugins\.)")
"""How the names of dpbench's own modules begin, without those of the components that ship."""
SPLIT_BUDGET = (
    "Split the budget so that the shares add up to it: budget.share for pure ε, and μ/√k for each of k answers with normal noise."
)
QUOTE_NOTHING = "Name the column or the option that is wrong, and put no number into an error that follows from rows or answers."
AVOID_WARNINGS = "Prevent what the warning is about, as a division by zero, or catch it where it is meant to happen."


def guarded(what: str, task: Callable[[], T], rows: Rows | None = None) -> T:
    """Return what a task returns. ``what`` begins the sentence about an error, and ``rows`` are what its text must not quote."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return task()
    except (Failure, NotApplicable, Violation):
        raise
    except Warning as warning:
        raise Failure(f"{what} warns: {described(warning)}.", AVOID_WARNINGS) from warning
    except Overspent as error:
        raise Failure(f"{what} spends more than its budget: {error}", SPLIT_BUDGET) from error
    except Exception as error:
        if rows is not None and (number := quoted_number(error, rows)):
            quotes = f"the text of the error quotes a value of a private row ({number}…)"
            raise Failure(f"{what} ends with {type(error).__name__}, and {quotes}.", QUOTE_NOTHING) from error
        kind = "is refused" if isinstance(error, Refused) else "ends with an error"
        called = f" The author's line is {place}." if (place := authors_line(error)) else ""
        raise Failure(f"{what} {kind}: {described(error)}.{called}") from error


def authors_line(error: BaseException) -> str:
    """Return the last line of the author's file that led to an error in dpbench or in a library; empty if it arose there."""
    frames = list(traceback.walk_tb(error.__traceback__))
    strangers = [frame for frame, _ in frames if not CORE.match(frame.f_globals.get("__name__", ""))]
    if not strangers or strangers[0].f_code is frames[-1][0].f_code:
        return ""
    file = strangers[0].f_code.co_filename
    frame, line = [(frame, line) for frame, line in frames if frame.f_code.co_filename == file][-1]
    return f"{file.rpartition('/')[2]}:{line} in {frame.f_code.co_name}"


def quoted_number(error: BaseException, rows: Rows) -> str:
    """Return the beginning of a number of the rows that the text of an error quotes; empty if it quotes none."""
    numbers = np.unique(np.abs(rows.z[:, 1:]))
    spellings = [f"{number:.9f}"[:QUOTED_CHARACTERS] for number in numbers if number >= MIN_QUOTED and number % 1]
    return next((spelling for spelling in spellings if spelling in str(error)), "")
