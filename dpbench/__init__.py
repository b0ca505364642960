"""Which differentially private regression, at which ε, on data like mine: the names that plugins and notebooks use.

They are looked up when first asked for, so that ``import dpbench`` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.version import __version__

if TYPE_CHECKING:
    from dpbench.base.options import option
    from dpbench.contracts.attack import Attack
    from dpbench.contracts.dataset import Dataset
    from dpbench.contracts.fit import Fit
    from dpbench.contracts.hooks import hookimpl
    from dpbench.contracts.mechanism import Mechanism, OneRunMechanism
    from dpbench.contracts.metric import Metric
    from dpbench.contracts.model import Model
    from dpbench.contracts.paper import Paper
    from dpbench.releases.release_file import load_release
    from dpbench.sweeps.python_api import sweep

__all__ = [
    "Attack",
    "Dataset",
    "Fit",
    "Mechanism",
    "Metric",
    "Model",
    "OneRunMechanism",
    "Paper",
    "__version__",
    "hookimpl",
    "load_release",
    "option",
    "sweep",
]

_HOMES = {
    "Attack": "dpbench.contracts.attack",
    "Fit": "dpbench.contracts.fit",
    "Dataset": "dpbench.contracts.dataset",
    "Mechanism": "dpbench.contracts.mechanism",
    "Metric": "dpbench.contracts.metric",
    "Model": "dpbench.contracts.model",
    "OneRunMechanism": "dpbench.contracts.mechanism",
    "Paper": "dpbench.contracts.paper",
    "hookimpl": "dpbench.contracts.hooks",
    "load_release": "dpbench.releases.release_file",
    "option": "dpbench.base.options",
    "sweep": "dpbench.sweeps.python_api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _adopt(name: str, folder: Path) -> None:
    """Make a folder that lies beside this package in a checkout the submodule that it is in the wheel.

    With a wheel installed, ``python -m dpbench`` in a checkout imports the checkout's ``dpbench``, which has no such submodule.
    """
    spec = spec_from_file_location(f"{__name__}.{name}", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = globals()[name] = module
    spec.loader.exec_module(module)


_home = Path(__file__).resolve().parent
for _name in ("conf", "plugins"):
    if not (_home / _name).is_dir() and (_home.parent / _name / "__init__.py").is_file():
        _adopt(_name, _home.parent / _name)
