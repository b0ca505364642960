"""The name of a mechanism that comes with dpbench. Expected: The mechanism 'fm' is offered more than once"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import Good


@dataclass(frozen=True)
class Clash(Good):
    __doc__ = Good.__doc__
    name = "fm"


@hookimpl
def dpbench_mechanisms():
    return [Clash]
