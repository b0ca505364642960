"""Compare what two fits know of their noise, by everything that it holds."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np


def same_state(first: Any, second: Any) -> bool:
    """Return whether two values hold the same: arrays to the bit, objects by class and state; NaN equals NaN.

    Results that an object has cached do not count: they follow from the rest.
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return bool(first.shape == second.shape and first.dtype == second.dtype and first.tobytes() == second.tobytes())
    if isinstance(first, Mapping):
        return first.keys() == second.keys() and all(same_state(value, second[key]) for key, value in first.items())
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same_state, first, second))
    if isinstance(first, float):
        return bool(first == second or (math.isnan(first) and math.isnan(second)))
    if hasattr(first, "__dict__") and not isinstance(first, type) and not callable(first):
        return same_state(_state(first), _state(second))
    # laws of noise have no state: their class says everything
    return bool(first == second) or (hasattr(first, "__slots__") and not first.__slots__)


def _state(value: Any) -> dict[str, Any]:
    return {name: held for name, held in vars(value).items() if not isinstance(getattr(type(value), name, None), cached_property)}
