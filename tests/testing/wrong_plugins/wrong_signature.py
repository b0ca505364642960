"""A fit with other parameters. Expected: dpbench calls fit(curator, problem, budget), and fit takes (x, y)."""

from dataclasses import dataclass

from dpbench import hookimpl

from ._good import Good


@dataclass(frozen=True)
class WrongSignature(Good):
    __doc__ = Good.__doc__
    name = "wrong_signature"

    def fit(self, x, y):
        return x @ y


@hookimpl
def dpbench_mechanisms():
    return [WrongSignature]
