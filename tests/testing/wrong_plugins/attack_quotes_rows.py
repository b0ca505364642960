"""An error whose text quotes private rows. Expected: the text of the error quotes a value of a private row"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodAttack


@dataclass(frozen=True)
class AttackQuotesRows(GoodAttack):
    __doc__ = GoodAttack.__doc__
    name = "attack_quotes_rows"

    def errors(self, sample, weights, run):
        raise ValueError(f"cannot attack {sample.rows(run).y.tolist()}")


@hookimpl
def dpbench_attacks():
    return [AttackQuotesRows]
