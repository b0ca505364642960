"""A model that is prepared from rows. Expected: dpbench calls prepare(curator), and prepare takes (x, y)."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import GoodModel


@dataclass(frozen=True)
class ModelWrongSignature(GoodModel):
    __doc__ = GoodModel.__doc__
    name = "model_wrong_signature"

    def prepare(self, x, y):
        return self.problem(x, y)


@hookimpl
def dpbench_models():
    return [ModelWrongSignature]
