"""Run linear algebra on one thread, so that its last bits do not depend on the number of cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread: with two of them some products differ in their last bits."""
    with _controller().limit(limits=1):
        yield


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  loads SciPy's BLAS: the controller finds only libraries that are loaded already
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
