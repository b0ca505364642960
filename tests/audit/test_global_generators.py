"""Code that uses a shared generator is seen, also if it sets the same seed each time; the generators stay as they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.audit.global_generators import watched_generators


@pytest.mark.parametrize(
    ("task", "used"),
    [
        (lambda: np.random.seed(3), True),
        (lambda: np.random.normal(), True),
        (lambda: random.seed(3), True),
        (lambda: random.random(), True),
        (lambda: np.random.default_rng(3).normal(), False),
    ],
)
def test_every_use_is_seen_each_time_and_nothing_is_left_changed(task: Callable[[], Any], used: bool) -> None:
    before = random.getstate(), repr(np.random.get_state())
    for _ in range(3):
        with watched_generators() as generators:
            task()
        assert generators.used == used
    assert (random.getstate(), repr(np.random.get_state())) == before


def test_an_error_leaves_the_generators_as_they_were() -> None:
    before = random.getstate()
    with pytest.raises(ZeroDivisionError), watched_generators():
        random.seed(1 / 0)
    assert random.getstate() == before
