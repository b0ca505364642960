"""A quarter of the noise. Expected: times its declared L1 sensitivity."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import Good


@dataclass(frozen=True)
class TooLittleNoise(Good):
    __doc__ = Good.__doc__
    name = "too_little_noise"
    share = 0.25


@hookimpl
def dpbench_mechanisms():
    return [TooLittleNoise]
