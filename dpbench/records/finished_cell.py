"""A record: everything the benchmark says about one cell, as plain data without a private row.

The names in it are a public interface; see ``docs/records.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Status = Literal["ok", "failed"]


@dataclass(frozen=True)
class FinishedCell:
    """One finished or failed cell: what is written to MLflow as one run."""

    key: str
    status: Status
    config: Mapping[str, Any]
    """The whole resolved configuration."""
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    """Finite numbers by their public names, suffixes included."""
    history: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Metrics that have one value a repeat: the step is the repeat."""
    ledger: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, np.ndarray] = field(default_factory=dict)
    """One column a name, one row a run."""
    curves: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    """Curves over the runs, such as ``utility/roc``: ``x`` and, at each of its points, the summaries of a metric."""
    error: str = ""
    """Why the cell failed; empty when it did not."""
