"""What every check is: a frozen dataclass whose fields are what a claim's YAML gives it.

A check knows parameters and metrics, and no mechanism.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option
from dpbench.experiments.checks.cell_selection import named
from dpbench.experiments.checks.intervals import Finding
from dpbench.records.cell_record import CellRecord


@dataclass(frozen=True)
class Check(ABC):
    """What every check takes."""

    cells: dict[str, Any] = option({}, help="the cells that the claim is about, by their parameters")
    metric: tuple[str, ...] = option((), help="the metric, or several: a cell takes the first it has; empty: its primary one")

    needs: ClassVar[tuple[str, ...]] = ()
    """The fields that cannot be left out."""

    def __post_init__(self) -> None:
        check_options(self, f"the check {name_of(type(self))}")
        for name in self.needs:
            if not getattr(self, name):
                raise Refused(f"The check {name_of(type(self))} needs the option {name!r}. Got nothing instead.")

    @abstractmethod
    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        """A finding for every place that these cells have."""

    def metric_of(self, row: CellRecord) -> str:
        for name in self.metric:
            if row.metric(name) is not None:
                return name
        return self.metric[0] if self.metric else f"utility/{row.primary}"


SPREAD_HELP = "the variance, or the width from the 20 % to the 80 % quantile"
SPREADS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "variance": lambda x: x.var(-1, ddof=1) if x.shape[-1] > 1 else np.full(x.shape[:-1], np.nan),
    "band": lambda x: np.asarray(np.subtract(*np.quantile(x, [0.8, 0.2], axis=-1))),
}


def name_of(kind: type[Check]) -> str:
    """As a claim calls it: the class's words, with underscores."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__.replace("UShape", "uShape")).lower()


def reference_of(reference: str, metric: str) -> str:
    """The reference's metric: its own name, or what it begins with and the metric's last word."""
    return reference + metric.rpartition("/")[2] if reference.endswith("/") else reference


def versus(first: CellRecord, other: CellRecord, against: Mapping[str, Any]) -> str:
    """Two cells by their mechanisms; by their models too where models are compared."""
    models = [f" {row.params['model']}" if "model" in against else "" for row in (first, other)]
    return f"{named(first)}{models[0]} against {named(other)}{models[1]}"
