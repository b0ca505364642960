"""Python's garbage collector, which start-up keeps busy: a million objects are made that stay, and none that are garbage."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (100_000, 50, 100)
"""Look for garbage less often than Python does, also after start-up."""

_postponed = False


@contextmanager
def garbage_postponed() -> Iterator[None]:
    """Look for no garbage before :func:`end_start_up` is called, or the block ends."""
    global _postponed
    gc.set_threshold(*THRESHOLDS)
    atexit.register(gc.freeze)  # the last look for garbage would be in vain, too
    _postponed = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        end_start_up()


def end_start_up() -> None:
    """Look for garbage from now on, among later objects first; nothing happens where it was not postponed."""
    global _postponed
    if _postponed:
        _postponed = False
        gc.freeze()
        gc.unfreeze()  # now all objects count as old ones, without a look at any of them
        gc.enable()
