"""A fit that ends the program. Expected: It ends with an error: SystemExit: 3"""

import sys
from dataclasses import dataclass

from dpbench import hookimpl

from ._good import Good


@dataclass(frozen=True)
class Exits(Good):
    __doc__ = Good.__doc__
    name = "exits"

    def finish(self, fit):
        sys.exit(3)


@hookimpl
def dpbench_mechanisms():
    return [Exits]
