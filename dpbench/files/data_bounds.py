"""Bounds and levels that are read from the rows of a file, which is a leak, and columns that have no useful bounds."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.bounds_file import UNKNOWN_LEVEL, ColumnDeclaration, parse_levels
from dpbench.files.column_profiles import MAX_DRAFTED_LEVELS, profile_columns
from dpbench.files.table_files import File


def bounds_from_data(
    file: File, names: Sequence[str], levels: Mapping[str, Any], counts_missing: bool = False
) -> dict[str, ColumnDeclaration]:
    """Return the ranges and levels of these columns in the rows, except for declared levels.

    ``counts_missing``: a column of levels in which values are missing also has the level for them.
    """
    columns: dict[str, ColumnDeclaration] = {}
    for name, profile in profile_columns(file, names).items():
        if profile.missing == profile.rows:
            raise all_missing(file, name)
        if profile.constant:
            raise constant(file, name)
        if name in levels:
            columns[name] = ColumnDeclaration(levels=parse_levels(name, levels[name], "dataset.levels"))
        elif profile.kind == "numbers":
            columns[name] = ColumnDeclaration(profile.low, profile.high)
        elif profile.categorical:
            unknown = (UNKNOWN_LEVEL,) if counts_missing and profile.missing and UNKNOWN_LEVEL not in profile.levels else ()
            columns[name] = ColumnDeclaration(levels=(*profile.levels, *unknown))
        else:
            raise Refused(
                f"The column {name!r} of {file.label} has more than {MAX_DRAFTED_LEVELS} different texts, so it has no "
                "levels. Leave it out with dataset.attributes."
            )
    return columns


def constant(file: File, name: str) -> Refused:
    """Return the refusal of a column that holds one value only."""
    return Refused(
        f"The column {name!r} of {file.label} has the same value in every row after clipping to its bounds. Leave it out, or "
        "check its bounds."
    )


def all_missing(file: File, name: str) -> Refused:
    """Return the refusal of a column without a value."""
    return Refused(f"The column {name!r} of {file.label} has no values. Leave it out with dataset.attributes.")
