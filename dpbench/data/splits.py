"""Splits: which rows train and which test, repeat by repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option
from dpbench.base.random_streams import stream

UNUSED = -1
"""The part of a row that the repeat did not sample."""


@dataclass(frozen=True)
class Splits:
    """Repeated k-fold (every part is tested once) or repeated hold-out (part 0 is tested, part 1 trains).

    A repeat is an assignment of rows to parts; a run trains on everything sampled but its own part, so that its sums
    are the total less the part's.
    """

    name: ClassVar[str] = "splits"

    scheme: Literal["kfold", "holdout"] = option("kfold", help="repeated k-fold or repeated hold-out")
    repeats: int = option(50, low=1, help="how often the table is split anew")
    folds: int = option(5, low=2, help="parts of a k-fold split")
    test_fraction: float = option(0.2, low=0, high=1, open_low=True, open_high=True, help="tested share of a hold-out split")

    def __post_init__(self) -> None:
        check_options(self, self.name)

    @property
    def tests(self) -> int:
        """Tested parts in one repeat: runs per repeat."""
        return self.folds if self.scheme == "kfold" else 1

    @property
    def parts(self) -> int:
        return self.folds if self.scheme == "kfold" else 2

    @property
    def runs(self) -> int:
        return self.repeats * self.tests

    def as_config(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"folds": self.folds} if self.scheme == "kfold" else {"test_fraction": self.test_fraction}
        return {"scheme": self.scheme, "repeats": self.repeats, **shape}

    def describe(self) -> str:
        if self.scheme == "kfold":
            return f"{self.repeats} x {self.folds}-fold"
        return f"{self.repeats} x hold-out {self.test_fraction:g}"

    def sizes(self, rows: int) -> np.ndarray:
        """How many of the sampled rows each part gets: public, since n is."""
        if self.scheme == "kfold":
            sizes = np.full(self.folds, rows // self.folds)
            sizes[: rows % self.folds] += 1
        else:
            tested = min(max(round(rows * self.test_fraction), 1), rows - 1)
            sizes = np.array([tested, rows - tested])
        if sizes.min() < 1 or rows < 2:
            raise Refused(f"Splitting {rows} rows into {self.parts} parts leaves an empty one. Ask for fewer folds or more rows.")
        return sizes

    def assign(self, rows: int, sampled: int, seed: int, identity: str, repeat: int) -> np.ndarray:
        """The part of every row in one repeat (UNUSED where it was not sampled)."""
        small = np.int8 if self.parts <= np.iinfo(np.int8).max else np.int32  # shuffling and comparing bytes is faster
        parts = np.repeat(np.arange(self.parts, dtype=small), self.sizes(sampled))
        unused = np.full(rows - sampled, UNUSED, dtype=small)
        labels = np.concatenate([parts, unused])
        stream(seed, identity, "splits", self.scheme, repeat).shuffle(labels)
        return labels
