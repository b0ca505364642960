"""A version that is not there yet. Expected: The class NewerApi was written for version 99 of dpbench's contracts"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import Good, GoodAttack, GoodDataset, GoodModel


@dataclass(frozen=True)
class NewerApi(Good):
    __doc__ = Good.__doc__
    name = "newer_api"
    api_version = 99


@dataclass(frozen=True)
class NewerModel(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "newer_model"
    api_version = 99


@dataclass(frozen=True)
class NewerDataset(GoodDataset):
    __doc__ = GoodDataset.__doc__
    name = "newer_dataset"
    api_version = 99


@dataclass(frozen=True)
class NewerAttack(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "newer_attack"
    api_version = 99


@hookimpl
def dpbench_mechanisms():
    return [NewerApi]


@hookimpl
def dpbench_models():
    return [NewerModel]


@hookimpl
def dpbench_datasets():
    return [NewerDataset]


@hookimpl
def dpbench_attacks():
    return [NewerAttack]
