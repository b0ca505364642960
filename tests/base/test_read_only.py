"""What is read-only stays as it is, and so do its parts."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.read_only import read_only


def test_neither_the_array_nor_a_part_of_it_can_be_changed() -> None:
    array = read_only(np.full((2, 3), 2.5))
    for part in (array, array[0], array[:, 1:], array.T):
        with pytest.raises(ValueError, match="read-only"):
            part += 1
        if part is not array:
            with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                part.flags.writeable = True
    assert array.sum() == 15
