"""Read-only arrays: what several cells share, or what was already released, must not change afterwards."""

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the same array, which can no longer be changed. Copy it first where somebody else may still want to."""
    array.flags.writeable = False
    return array
