"""An attack that seeds what everybody shares. Expected: It used numpy.random, which others share."""

from dataclasses import dataclass

import numpy as np

from dpbench import hookimpl

from ._good import GoodAttack


@dataclass(frozen=True)
class AttackGlobalSeed(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "attack_global_seed"

    def run(self, target):
        np.random.seed(3)
        return super().run(target)


@hookimpl
def dpbench_attacks():
    return [AttackGlobalSeed]
