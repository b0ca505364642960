"""How high can an electricity bill get? Everything that this distribution brings to dpbench."""

from dpbench import hookimpl

from .averaged_descent import AveragedDescent
from .bills import Bills
from .by_error import ByError
from .pinball import PINBALL
from .upper import Upper

__all__ = ["PINBALL", "AveragedDescent", "Bills", "ByError", "Upper"]


@hookimpl
def dpbench_mechanisms():
    return [AveragedDescent]


@hookimpl
def dpbench_models():
    return [Upper]


@hookimpl
def dpbench_datasets():
    return [Bills]


@hookimpl
def dpbench_attacks():
    return [ByError]


@hookimpl
def dpbench_metrics():
    return [PINBALL]
