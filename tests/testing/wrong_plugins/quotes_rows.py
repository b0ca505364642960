"""An error whose text quotes private rows. Expected: the text of the error quotes a value of a private row"""

from dataclasses import dataclass
from typing import ClassVar

from dpbench import hookimpl
from dpbench.noise import laplace
from dpbench.queries import RowQuery

from ._good import Good


@dataclass(frozen=True)
class Targets(RowQuery):
    """The sum of the targets."""

    name: str = "targets"
    size: ClassVar[int] = 1

    def contribution(self, rows, run):
        raise ValueError(f"cannot add {rows.y.tolist()}")


@dataclass(frozen=True)
class QuotesRows(Good):
    __doc__ = Good.__doc__
    name = "quotes_rows"

    def fit(self, curator, problem, budget):
        return curator.release(Targets(), laplace(2.0, budget.epsilon, "two targets differ by 2"))


@hookimpl
def dpbench_mechanisms():
    return [QuotesRows]
