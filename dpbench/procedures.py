"""Private answers that are not noise on a sum, such as a least eigenvalue: what ``curator.ask`` takes.

Import them from here in a plugin. They see rows, so a plugin cannot bring its own. :class:`OutsideProgram` is for the program of
another library: it may do with the rows what it likes, and is never sound. :class:`OutsidePackage` runs one in an environment of
its own, below :func:`cache_folder`, where its requirements conflict with those of dpbench.
"""

from dpbench.base.outside_package import OutsidePackage
from dpbench.files.download_cache import cache_folder
from dpbench.privacy.procedures.adaptive_tree import AdaptiveTree
from dpbench.privacy.procedures.least_eigenvalue import LeastEigenvalue
from dpbench.privacy.procedures.outside_program import OutsideProgram
from dpbench.privacy.procedures.perturbed_minimum import PerturbedMinimum
from dpbench.privacy.procedures.perturbed_objective import PerturbedObjective
from dpbench.privacy.procedures.row_loss import RowLoss
from dpbench.privacy.procedures.selection import Selection

__all__ = [
    "AdaptiveTree",
    "LeastEigenvalue",
    "OutsidePackage",
    "OutsideProgram",
    "PerturbedMinimum",
    "PerturbedObjective",
    "RowLoss",
    "Selection",
    "cache_folder",
]
