"""Which differentially private regression, at which ε, on data like mine: the names that plugins and notebooks use.

They are imported on first use, so that ``import dpbench`` costs nothing. The queries are in :mod:`dpbench.queries`, the laws of
noise in :mod:`dpbench.noise`, and the checks of an author's own components in :mod:`dpbench.testing`.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.version import __version__

if TYPE_CHECKING:  # each name is exported ("as") for type checkers; _HOMES exports it at run time
    from dpbench.base.errors import Refused as Refused
    from dpbench.base.options import option as option
    from dpbench.choosing.python_api import choose as choose
    from dpbench.contracts.attack import Attack as Attack
    from dpbench.contracts.attack import AttackTarget as AttackTarget
    from dpbench.contracts.attack import advantage_cap as advantage_cap
    from dpbench.contracts.dataset import Dataset as Dataset
    from dpbench.contracts.fit import Fit as Fit
    from dpbench.contracts.hooks import hookimpl as hookimpl
    from dpbench.contracts.mechanism import Mechanism as Mechanism
    from dpbench.contracts.mechanism import OneRunMechanism as OneRunMechanism
    from dpbench.contracts.metric import Metric as Metric
    from dpbench.contracts.metric import Predictions as Predictions
    from dpbench.contracts.metric import RunPredictions as RunPredictions
    from dpbench.contracts.model import Capability as Capability
    from dpbench.contracts.model import Model as Model
    from dpbench.contracts.model import Problem as Problem
    from dpbench.contracts.paper import Paper as Paper
    from dpbench.contracts.uncertainty import IntervalRequest as IntervalRequest
    from dpbench.contracts.uncertainty import Intervals as Intervals
    from dpbench.contracts.uncertainty import Uncertainty as Uncertainty
    from dpbench.data.geometry import Geometry as Geometry
    from dpbench.data.samples import Sample as Sample
    from dpbench.data.scaling import Rows as Rows
    from dpbench.data.table import Column as Column
    from dpbench.data.table import Table as Table
    from dpbench.fitting.least_squares import LeastSquares as LeastSquares
    from dpbench.inference.iterates import iterates as iterates
    from dpbench.inference.known_covariance import KnownCovariance as KnownCovariance
    from dpbench.inference.released_moments import released_moments as released_moments
    from dpbench.privacy.curator import Curator as Curator
    from dpbench.privacy.ledger import Budget as Budget
    from dpbench.records.metric_info import MetricInfo as MetricInfo
    from dpbench.releases.estimators import PrivateClassifier as PrivateClassifier
    from dpbench.releases.estimators import PrivateRegressor as PrivateRegressor
    from dpbench.releases.release_file import load_release as load_release
    from dpbench.sweeps.python_api import load as load
    from dpbench.sweeps.python_api import sweep as sweep

_CONTRACTS = ("Attack", "Dataset", "Fit", "Mechanism", "Metric", "Model", "Paper")
_HOMES = {name: f"dpbench.contracts.{name.lower()}" for name in _CONTRACTS} | {
    "AttackTarget": "dpbench.contracts.attack",
    "Budget": "dpbench.privacy.ledger",
    "Capability": "dpbench.contracts.model",
    "Column": "dpbench.data.table",
    "Curator": "dpbench.privacy.curator",
    "Geometry": "dpbench.data.geometry",
    "IntervalRequest": "dpbench.contracts.uncertainty",
    "Intervals": "dpbench.contracts.uncertainty",
    "KnownCovariance": "dpbench.inference.known_covariance",
    "LeastSquares": "dpbench.fitting.least_squares",
    "MetricInfo": "dpbench.records.metric_info",
    "OneRunMechanism": "dpbench.contracts.mechanism",
    "Predictions": "dpbench.contracts.metric",
    "PrivateClassifier": "dpbench.releases.estimators",
    "PrivateRegressor": "dpbench.releases.estimators",
    "Problem": "dpbench.contracts.model",
    "Refused": "dpbench.base.errors",
    "Rows": "dpbench.data.scaling",
    "RunPredictions": "dpbench.contracts.metric",
    "Sample": "dpbench.data.samples",
    "Table": "dpbench.data.table",
    "Uncertainty": "dpbench.contracts.uncertainty",
    "advantage_cap": "dpbench.contracts.attack",
    "choose": "dpbench.choosing.python_api",
    "hookimpl": "dpbench.contracts.hooks",
    "iterates": "dpbench.inference.iterates",
    "load": "dpbench.sweeps.python_api",
    "load_release": "dpbench.releases.release_file",
    "option": "dpbench.base.options",
    "released_moments": "dpbench.inference.released_moments",
    "sweep": "dpbench.sweeps.python_api",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _adopt(folder: Path) -> None:
    """Import a folder that lies next to this package in a checkout as the submodule that it is in the wheel.

    If a wheel is installed, ``python -m dpbench`` in a checkout imports the checkout's ``dpbench``, which has no such submodule.
    """
    spec = spec_from_file_location(f"{__name__}.{folder.name}", folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = globals()[folder.name] = module
    spec.loader.exec_module(module)


_here = Path(__file__).resolve().parent
for _name in ("conf", "plugins"):
    if not (_here / _name).is_dir() and (_here.parent / _name / "__init__.py").is_file():
        _adopt(_here.parent / _name)
