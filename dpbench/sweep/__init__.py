"""From the command line to finished records: expand the grid, plan it, run it.

The package itself is callable, so that ``dpbench.sweep(mechanism=["fm", "dpba"], epsilon=[0.1, 0.8])`` runs a sweep
(:func:`dpbench.sweep.api.sweep`) and ``dpbench.sweep.plan`` is still a module.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **grid: Any) -> Any:
        from dpbench.sweep.api import sweep

        return sweep(*arguments, **grid)


sys.modules[__name__].__class__ = _Callable
