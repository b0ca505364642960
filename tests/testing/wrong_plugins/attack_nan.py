"""A gap that is no number. Expected: The metric gap is not finite in some run"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodAttack


@dataclass(frozen=True)
class AttackNan(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "attack_nan"

    def gap(self, target, run):
        return float("nan")


@hookimpl
def dpbench_attacks():
    return [AttackNan]
