"""A version that is not there yet. Expected: The class NewerApi was written for version 99 of dpbench's contracts"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import Good


@dataclass(frozen=True)
class NewerApi(Good):
    __doc__ = Good.__doc__
    name = "newer_api"
    api_version = 99


@hookimpl
def dpbench_mechanisms():
    return [NewerApi]
