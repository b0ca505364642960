"""Private answers that are not noise on a sum, such as a least eigenvalue: what ``curator.ask`` takes.

Import them from here in a plugin. They see rows, so a plugin cannot bring its own.
"""

from dpbench.base.outside_package import OutsidePackage
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
]
