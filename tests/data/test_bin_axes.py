"""The bins of one attribute: every value falls into one bin, and a bin's centre falls into itself."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.bin_axes import BinAxis, bins_of, equal_bins, level_bins, one_hot_bins, place_centres

AXES = {
    "equal bins": equal_bins(1, (-1.0, 1.0), 7),
    "a bin for each level": level_bins(1, (-1.0, 1.0), 4),
    "one-hot": one_hot_bins([1, 2, 3]),
}


def centres_as_rows(axes: list[BinAxis]) -> np.ndarray:
    z = np.zeros((bins_of(axes), 6))
    place_centres(z, axes, np.arange(len(z)))
    return z


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_a_centre_falls_into_its_own_bin(axis: BinAxis) -> None:
    assert axis.locate(centres_as_rows([axis])).tolist() == list(range(axis.size))


@pytest.mark.parametrize(("value", "position"), [(-1.0, 0), (-0.72, 0), (-0.71, 1), (0.0, 3), (1.0, 6)])
def test_the_upper_end_of_a_range_belongs_to_the_last_bin(value: float, position: int) -> None:
    assert AXES["equal bins"].locate(np.full((1, 2), value)).tolist() == [position]


def test_a_row_of_no_level_has_a_bin_of_its_own() -> None:
    assert AXES["one-hot"].locate(np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 1]])).tolist() == [0, 3]


def test_bins_of_several_axes_are_all_combinations() -> None:
    axes = [equal_bins(4, (0.0, 1.0), 2), one_hot_bins([1, 2, 3])]
    z = centres_as_rows(axes)
    assert len(z) == bins_of(axes) == 8
    assert axes[0].locate(z).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert axes[1].locate(z).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert bins_of([]) == 1
