"""Splits: which rows train and which test, repeat by repeat."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option
from dpbench.base.random_streams import stream

BLOCK_ROWS = 4_096
"""Consecutive rows of a table that stay together with ``by=blocks``."""
UNSAMPLED = -1
"""The label of a row that the repeat did not sample."""


@dataclass(frozen=True)
class Splits:
    """Repeated k-fold splits (each part is tested once) or repeated hold-out splits (part 0 is tested, part 1 trains).

    A repeat assigns rows to parts. A run trains on all sampled rows outside the part it tests, so its training sums are the
    total minus that part's.

    With ``by=blocks`` it assigns blocks of :data:`BLOCK_ROWS` consecutive rows instead, each by its own number of a random
    stream, so that a pass over a table knows the part of a block before it knows how many blocks there are. The number of rows
    of each part then varies, and is public, because it follows from n and the seed.
    """

    scheme: Literal["kfold", "holdout"] = option("kfold", help="repeated k-fold or repeated hold-out")
    repeats: int = option(50, low=1, help="number of times that the table is split")
    folds: int = option(5, low=2, help="number of parts of a k-fold split")
    test_fraction: float = option(
        0.2, low=0, high=1, open_low=True, open_high=True, help="share of rows that a hold-out split tests"
    )
    by: Literal["rows", "blocks"] = option("rows", help="what is assigned to parts: rows, or blocks of 4,096 consecutive rows")

    def __post_init__(self) -> None:
        check_options(self, "splits")

    @property
    def tests(self) -> int:
        """The number of tested parts in a repeat: its runs."""
        return self.folds if self.scheme == "kfold" else 1

    @property
    def parts(self) -> int:
        """The number of parts that a repeat splits its rows into."""
        return self.folds if self.scheme == "kfold" else 2

    @property
    def runs(self) -> int:
        """The number of runs of all repeats."""
        return self.repeats * self.tests

    def as_config(self) -> dict[str, Any]:
        """Return the options that this scheme uses."""
        shape: dict[str, Any] = {"folds": self.folds} if self.scheme == "kfold" else {"test_fraction": self.test_fraction}
        by = {} if self.by == "rows" else {"by": self.by}  # cells recorded before it existed keep their keys
        return {"scheme": self.scheme, "repeats": self.repeats, **shape, **by}

    def describe(self) -> str:
        """Return the splits in a few words, such as "50 x 5-fold"."""
        shape = f"{self.folds}-fold" if self.scheme == "kfold" else f"hold-out {self.test_fraction:g}"
        return f"{self.repeats} x {shape}{' of blocks' if self.by == 'blocks' else ''}"

    def sizes(self, rows: int) -> np.ndarray:
        """Return the number of rows that each part gets out of the sampled ones, with ``by=rows``: public, because n is."""
        if self.scheme == "kfold":
            sizes = np.full(self.folds, rows // self.folds)
            sizes[: rows % self.folds] += 1
        else:
            tested = min(max(round(rows * self.test_fraction), 1), rows - 1)
            sizes = np.array([tested, rows - tested])
        if sizes.min() < 1 or rows < 2:
            raise Refused(f"Splitting {rows} rows into {self.parts} parts leaves a part empty. Use fewer folds or more rows.")
        return sizes

    def assign(self, rows: int, sampled: int, seed: int, identity: str, repeat: int) -> np.ndarray:
        """Return the part of every row in one repeat, or UNSAMPLED."""
        if self.by == "blocks":
            self.block_sizes(sampled, seed, identity, repeat)
            if sampled < rows:
                raise Refused(
                    "With splits.by=blocks every row belongs to a part: leave out dataset.sample_rate, or set splits.by=rows."
                )
            return np.repeat(self.block_parts(-(-rows // BLOCK_ROWS), seed, identity, repeat), BLOCK_ROWS)[:rows]
        # NumPy shuffles items of eight bytes faster than others, with the same draws; searching and comparing bytes is faster
        labels = np.repeat(np.append(np.arange(self.parts), UNSAMPLED), np.append(self.sizes(sampled), rows - sampled))
        stream(seed, identity, "splits", self.scheme, repeat).shuffle(labels)
        return labels.astype(self._label_type)

    def block_parts(self, blocks: int, seed: int, identity: str, repeat: int) -> np.ndarray:
        """Return the part of each of the first blocks of a table in one repeat: the same for a block, however many there are."""
        numbers = stream(seed, identity, "splits", "blocks", self.scheme, repeat).random(blocks)
        parts = numbers * self.folds if self.scheme == "kfold" else numbers >= self.test_fraction
        return parts.astype(self._label_type)

    @property
    def _label_type(self) -> type[np.signedinteger[Any]]:
        return np.int8 if self.parts <= np.iinfo(np.int8).max else np.int32

    def block_sizes(self, rows: int, seed: int, identity: str, repeat: int) -> np.ndarray:
        """Return the number of rows that each part of a repeat gets with ``by=blocks``: public, because n and the seed are."""
        blocks = -(-rows // BLOCK_ROWS)
        rows_each = np.full(blocks, BLOCK_ROWS)
        rows_each[-1:] -= blocks * BLOCK_ROWS - rows
        sizes = np.bincount(self.block_parts(blocks, seed, identity, repeat), weights=rows_each, minlength=self.parts).astype(int)
        if sizes.min() < 1:
            raise Refused(
                f"With splits.by=blocks, {rows:,} rows are {blocks:,} blocks of {BLOCK_ROWS:,}, and repeat {repeat} leaves one "
                f"of {self.parts} parts without any. Use fewer parts, more rows, or splits.by=rows."
            )
        return sizes
