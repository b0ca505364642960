"""A released model for tests: one column a from 0 to 4, and a target y from 0 to 10."""

from __future__ import annotations

from typing import Any

from dpbench.data.table import Column
from dpbench.registry.lookup import build
from dpbench.releases.release_file import Release


def make_release(**changes: Any) -> Release:
    """Return a linear model in which y rises with a, with these fields instead of its own."""
    fields: dict[str, Any] = {
        "model": {"name": "linear", **build("model", {"name": "linear"}).options()},
        "mechanism": {"name": "fm"},
        "dataset": {"name": "people", "synthetic": False},
        "columns": (Column("a", 0, 4),),
        "target": Column("y", 0, 10),
        "kind": "real",
        "scaling": "box",
        "radius": None,
        "threshold": None,
        "intercept": True,
        "weights": {"intercept": 0.0, "a": 1.0},
        "privacy": {"epsilon": 1.0},
        "statement": "A statement.",
    }
    return Release(**{**fields, **changes})
