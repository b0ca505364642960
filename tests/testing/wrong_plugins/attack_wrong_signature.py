"""An attack on weights alone. Expected: dpbench calls run(target), and run takes (weights, rows)."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodAttack


@dataclass(frozen=True)
class AttackWrongSignature(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "attack_wrong_signature"

    def run(self, weights, rows):
        return {"gap": weights @ rows}


@hookimpl
def dpbench_attacks():
    return [AttackWrongSignature]
