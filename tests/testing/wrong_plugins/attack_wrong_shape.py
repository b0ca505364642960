"""One number for all runs. Expected: The metric gap must have the shape (20,). Got () instead."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodAttack


@dataclass(frozen=True)
class AttackWrongShape(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "attack_wrong_shape"

    def run(self, target):
        return {"gap": super().run(target)["gap"].mean()}


@hookimpl
def dpbench_attacks():
    return [AttackWrongShape]
