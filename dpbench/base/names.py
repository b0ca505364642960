"""The rule for names on the command line: components, metrics and papers all follow it."""

from __future__ import annotations

import re
from typing import Any


def name_fault(what: str, name: Any) -> str:
    """Return what is wrong with the name of something in one sentence, or an empty text."""
    if isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_]*", name):
        return ""
    return f"The name of {what} must be small letters, digits and _, a letter first. Got {name!r} instead."
