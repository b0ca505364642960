"""Run linear algebra on one thread, so that its last bits do not depend on the number of cores."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: with two of them some products differ in their last bits."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  loads SciPy's BLAS: the controller finds only libraries that are loaded already
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
