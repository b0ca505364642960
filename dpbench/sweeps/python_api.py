"""Sweeps from Python: the command line's names as keywords, a tidy DataFrame as the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpbench.base.errors import Refused
from dpbench.files.data_frames import is_frame, remove_frames, store_frame

if TYPE_CHECKING:
    import pandas


def sweep(options: Mapping[str, Any] | None = None, /, *, record: bool = True, **grid: Any) -> pandas.DataFrame:
    """Run every combination and return one row a cell: its parameters, tags and metrics by their public names.

    Keywords are the command line's keys: ``sweep(mechanism=["fm", "dpba"], epsilon=[0.1, 0.8], dataset="wine")``. A list is
    swept, anything else is fixed; a tuple is a value that is itself a list. Keys with a dot go into the first argument:
    ``sweep({"mechanism.ridge": [2, 4], "splits.repeats": 10}, mechanism="fm")``. A DataFrame is a value of ``dataset.path``
    (``dataset="table"``): its rows lie in a file that only the user can open until the sweep ends. With ``record=False``
    nothing else is written.
    """
    from dpbench.sweeps.grid import loaded
    from dpbench.sweeps.plan import plan

    if options is not None and not isinstance(options, Mapping):
        raise Refused(f"The first argument of sweep must be a mapping from keys to values. Got {type(options).__name__} instead.")
    asked = {**(options or {}), **grid}
    try:
        overrides = [f"{key}={_text(value)}" for key, value in asked.items()]
        points = loaded(overrides)
        return frame(points, plan(points), overrides, record)
    finally:
        remove_frames()  # the rows of a DataFrame that was handed in


def frame(points: Any, planned: Any, overrides: list[str], record: bool) -> pandas.DataFrame:
    import pandas

    from dpbench.sweeps.engines import engine_named
    from dpbench.sweeps.execution import execute, records_of, run_cells

    config = points[0].config
    if record:
        cells = execute(planned, config, sweep=True, command=["-m", *overrides], overrides=overrides).cells
    else:
        records: dict[str, Any] = {}
        engine = engine_named(config["engine"]["name"], config["engine"]["workers"], planned.seconds)
        run_cells(planned, engine, lambda done: records.__setitem__(done.key, done))
        cells = tuple(records_of(planned, records, {}))
    table = [{"state": cell.state, "reason": cell.reason, **cell.params, **cell.tags, **cell.metrics} for cell in cells]
    result = pandas.DataFrame(table)
    for column in ("epsilon", "delta"):
        result[column] = pandas.to_numeric(result[column])
    return result


def _text(value: Any) -> str:
    """A Python value in the grammar of the command line."""
    if is_frame(value):
        return _quoted(store_frame(value))
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, (list, range)):
        if not len(value):
            raise Refused("A swept list must hold at least one value. Got an empty list instead.")
        return ",".join(map(_text, value))
    if isinstance(value, tuple):
        return "[" + ",".join(_text(_fixed(item)) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_key(key)}:{_text(_fixed(item))}" for key, item in value.items()) + "}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    return _quoted(str(value))


def _fixed(value: Any) -> Any:
    """Within a value nothing is swept, so a list there is a list."""
    return tuple(value) if isinstance(value, list) else value


def _key(key: object) -> str:
    """A key of a mapping, with a backslash before what has a meaning."""
    return re.sub(r"([\\()\[\]{}:=, \t])", r"\\\1", str(key))


def _quoted(text: str) -> str:
    """A text that stays a text: in quotes, unless it is a plain word that nobody takes for a number or a truth."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_/-]*", text) and text.lower() not in ("true", "false", "null", "nan", "inf"):
        return text
    from dpbench.sweeps.grid import quoted

    return quoted(text)
