"""Names of what comes with dpbench. Expected: The mechanism 'fm' is offered more than once"""

from dataclasses import dataclass
from pathlib import Path

from dpbench import Metric, Paper, hookimpl

from ._good import Good, GoodAttack, GoodDataset, GoodModel


@dataclass(frozen=True)
class Clash(Good):
    __doc__ = Good.__doc__
    name = "fm"


@dataclass(frozen=True)
class ModelClash(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "linear"


@dataclass(frozen=True)
class DatasetClash(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "gaussian"


@dataclass(frozen=True)
class AttackClash(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "membership"


@hookimpl
def dpbench_mechanisms():
    return [Clash]


@hookimpl
def dpbench_models():
    return [ModelClash]


@hookimpl
def dpbench_datasets():
    return [DatasetClash]


@hookimpl
def dpbench_attacks():
    return [AttackClash]


@hookimpl
def dpbench_metrics():
    return [Metric("rmse", "nothing", "It is always zero.", "lower", compute_run=lambda rows: 0.0)]


@hookimpl
def dpbench_papers():
    return [Paper("zhang2012", "Nobody 2012: Nothing", Path(__file__).parent)]
