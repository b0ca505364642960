"""The attributes that an attacker does not know, in addition to the one that is guessed: they are summed out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.data.scaling import Rows

from ._attribute import Attribute


@dataclass(frozen=True, eq=False)
class Unknown:
    """Unknown attributes, and the combinations of their values."""

    attributes: Sequence[Attribute]

    @cached_property
    def features(self) -> np.ndarray:
        """The positions of all their columns among the features."""
        return np.concatenate([np.empty(0, dtype=int), *(attribute.features for attribute in self.attributes)])

    def combinations(self, rows: Rows, guessed: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each combination that some row has: its values in their columns, and log p(u | v) for each value v, (size,).

        ``guessed`` is each row's value of the attribute that is guessed, from 0 to size - 1. For a value that no row has, all
        combinations are equally likely: its prior alone makes it impossible.
        """
        if not self.attributes:
            return []
        shape = tuple(attribute.size for attribute in self.attributes)
        index = np.ravel_multi_index(tuple(attribute.candidates(rows) for attribute in self.attributes), shape)
        combinations, position = np.unique(index, return_inverse=True)
        counts = np.zeros((len(combinations), size))
        np.add.at(counts, (position, guessed), 1)
        totals = counts.sum(axis=0)
        share = np.where(totals > 0, counts / np.maximum(totals, 1), 1 / len(combinations))
        with np.errstate(divide="ignore"):  # a combination that never occurs with a value: log 0
            log_share = np.log(share)
        parts = np.unravel_index(combinations, shape)
        values = np.hstack([attribute.values[part] for attribute, part in zip(self.attributes, parts, strict=True)])
        return list(zip(values, log_share, strict=True))
