"""Sweeps from Python: the command line's names as keywords, and a result with frames, an answer, a plot and a report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpbench.base.errors import Refused
from dpbench.base.terminal import say_prose
from dpbench.experiments.combinations import COMBINING_KEYS
from dpbench.files.data_frames import is_frame

if TYPE_CHECKING:
    from dpbench.sweeps.result import Result

LIST_KEYS = ("dataset.nulls", *COMBINING_KEYS)
"""Keys whose values are lists."""


def sweep(options: Mapping[str, Any] | None = None, /, *, record: bool = True, **grid: Any) -> Result:
    """Run every combination and return a result: its ``frame``, ``answer``, ``plot()`` and ``report()``.

    Keywords are the command line's keys: ``sweep(mechanism=["fm", "dpba"], epsilon=[0.1, 0.8], dataset="wine")``. A list is
    swept, anything else is fixed; a tuple is a value that is itself a list. ``zip=["epsilon", "seed"]`` lets keys vary together,
    ``skip={"mechanism": "dpme", "model": "logistic"}`` leaves combinations out. Keys with a dot go into the first argument:
    ``sweep({"mechanism.ridge": [2, 4], "splits.repeats": 10}, mechanism="fm")``. A DataFrame is a value of ``dataset.path``
    (``dataset="table"``): until the sweep ends, its rows are in a file that only the user can open. With ``record=False``
    nothing else is written.
    """
    from dpbench.files.data_frames import remove_frames
    from dpbench.sweeps.description import describe_sweep
    from dpbench.sweeps.execution import execute, run_unrecorded
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.override_text import override_text
    from dpbench.sweeps.plan import plan
    from dpbench.sweeps.result import Result

    if options is not None and not isinstance(options, Mapping):
        raise Refused(f"The first argument of sweep must be a mapping from keys to values. Got {type(options).__name__} instead.")
    try:
        overrides = [f"{key}={override_text(_checked(key, value))}" for key, value in {**(options or {}), **grid}.items()]
        points = grid_points(overrides)
        planned, config = plan(points), points[0].config
        command = ["-m", *overrides]
        if not record:
            description = describe_sweep(planned, config, command, overrides)
            return Result(replace(description, cells=run_unrecorded(planned, config)))
        outcome = execute(planned, config, sweep=True, command=command, overrides=overrides)
        for sentence in outcome.sentences:
            say_prose(sentence, error=True)
        return Result(outcome.summary.sweep, outcome.summary)
    finally:
        remove_frames()


def load(sweep: str | None = None, *, uri: str | None = None, experiment: str = "dpbench") -> Result:
    """Return the result of a recorded sweep: by its run id (its first 6 characters are enough) or its preset, or the newest."""
    from dpbench.sweeps.result import Result
    from dpbench.tracking.store import open_store
    from dpbench.tracking.sweep_files import read_sweep

    with open_store(uri, experiment, create=False) as store:
        return Result(read_sweep(store, sweep))


def _checked(key: str, value: Any) -> Any:
    """Return a value whose text is safe to write: rows passed in another shape than a table would be quoted by every message."""
    if key in LIST_KEYS and isinstance(value, list):
        return tuple(value)  # a list of codes is one value, although other lists are swept
    items = value if isinstance(value, list) else [value]
    if key == "dataset.path" and not all(isinstance(item, (str, os.PathLike)) or is_frame(item) for item in items):
        raise Refused(
            "dataset.path must be a file's name or a table: pandas, Polars or Arrow. Got neither, such as an array or a dict."
        )
    if key == "dataset" and not all(isinstance(item, str) for item in items):
        raise Refused("dataset must be the name of a dataset. Got something else: rows are a value of dataset.path.")
    return value
