"""Explains why a table has no sensitive attribute that a mechanism or an attack could use."""

from __future__ import annotations

from dpbench.base.errors import near_names
from dpbench.data.geometry import Geometry


def lacks_sensitive(named: tuple[str, ...], geometry: Geometry, example: str) -> str | None:
    """Return why the table has none of the named attributes, or declares none, as the end of a sentence; None if it has one.

    ``named`` are the attributes that an option names; ``example`` shows how to set it: ``attack.sensitive=…``.
    """
    known = set(geometry.attributes or geometry.columns)
    unknown = [name for name in named if name not in known]
    if unknown:
        reason = f"the table has no attribute named {unknown[0]!r}.{near_names(unknown[0], known)}"
    elif not named and not geometry.sensitive:
        reason = f"the dataset declares no sensitive attribute. Name one with {example}.{near_names('', known)}"
    else:
        return None
    return reason.removesuffix(".")
