"""Whether code uses the random generators that everything in a process shares: ``numpy.random`` and ``random``."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass
class GlobalGenerators:
    """What happened to the shared generators, known when the block ends."""

    used: bool = False
    """Whether they are in another state than before."""


@contextmanager
def watched_generators() -> Iterator[GlobalGenerators]:
    """Watch the shared generators during a block, and leave them as they were. Run the code once before: an import may draw."""
    saved = random.getstate(), np.random.get_state()
    watched = GlobalGenerators()
    try:
        # one draw, so that code that sets the same seed again and again is seen at any time
        random.random(), np.random.random()
        before = _states()
        yield watched
        watched.used = _states() != before
    finally:
        random.setstate(saved[0])
        np.random.set_state(saved[1])


def _states() -> str:
    return repr((random.getstate(), [part.tolist() if isinstance(part, np.ndarray) else part for part in np.random.get_state()]))
