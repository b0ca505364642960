"""Which rows were fitted in this process, and at which cost: a second fit on the same rows needs a budget.

Rows are compared by hashes of their features, which stay in memory. A fold of a cross-validation shares rows with the next one,
so that a search stops too. Other columns, other values or another process go unnoticed: this is a guard, and no proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from dpbench.accounting.costs import Cost
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import ROUNDING, Budget


@dataclass(frozen=True)
class PaidFit:
    """A fit: the hashes of its rows, each once, and what its answers cost."""

    rows: np.ndarray
    costs: tuple[Cost, ...]


class FittedRows:
    """The fits of a process, and the costs that each row has paid."""

    def __init__(self) -> None:
        self._fits: list[PaidFit] = []
        self._lock = Lock()

    def paid(self, rows: np.ndarray, budget: Budget | None) -> list[Cost]:
        """Return the costs of all fits that share a row with these; refuse if there are some and no budget covers them."""
        earlier = [fit for fit in self._fits if np.isin(rows, fit.rows).any()]
        if earlier and budget is None:
            raise Refused(
                "Rows of this table were fitted before in this process, and a second fit costs again. To allow it, pass what "
                "all fits may cost together: budget=dpbench.Budget(epsilon=3)."
            )
        return [cost for fit in earlier for cost in fit.costs]

    def pay(self, rows: np.ndarray, budget: Budget | None, costs: Sequence[Cost]) -> None:
        """Count the costs of a fit before it spends them, or refuse it if all fits of a row would cost more than the budget."""
        with self._lock:
            paid = self.paid(rows, budget)
            if budget is not None and (total := budget.spent([*paid, *costs])) > budget.epsilon * (1 + ROUNDING):
                raise Refused(
                    f"This fit would bring the cost of its rows to ε = {total:.6g} at δ = {budget.delta:.3g}, above the budget "
                    f"of {budget.epsilon:.6g}. Nothing was drawn."
                )
            self._fits.append(PaidFit(rows, tuple(costs)))


FITTED_ROWS = FittedRows()
"""Of this process."""


def row_hashes(frame: Any) -> np.ndarray:
    """Return the hashes of the rows of a DataFrame, each once. Whole numbers are the same as integers and as floats."""
    import pandas

    plain = {at: _hashable(frame.iloc[:, at]) for at in range(frame.shape[1])}
    hashes = pandas.util.hash_pandas_object(pandas.DataFrame(plain), index=False)
    return np.unique(hashes.to_numpy())


def _hashable(column: Any) -> np.ndarray:
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column):
        return np.asarray(column.to_numpy(float, na_value=np.nan))
    return np.asarray(column.astype(str).to_numpy(object))
