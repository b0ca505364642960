"""An error whose text quotes private rows. Expected: the text of the error quotes a value of a private row"""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodModel, GoodProblem


class Problem(GoodProblem):
    """Least squares."""

    def exact(self, sample):
        raise ValueError(f"cannot fit {sample.rows(0).y.tolist()}")


@dataclass(frozen=True)
class ModelQuotesRows(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "model_quotes_rows"
    problem = Problem


@hookimpl
def dpbench_models():
    return [ModelQuotesRows]
