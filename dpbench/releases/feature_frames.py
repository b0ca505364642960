"""Features as an estimator gets them, arrays or DataFrames, as one pandas DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.base.errors import refuse_on

if TYPE_CHECKING:
    import pandas

TEXTS = "The cells of an array must be numbers: texts need a DataFrame with declared levels. Got texts."


def has_other_cells(X: Any, declared: bool) -> bool:
    """Return whether X is a DataFrame whose cells may be other than plain numbers, such as levels, dates or missing values."""
    from pandas.api.types import is_numeric_dtype

    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        return hasattr(X, "to_pandas")
    return declared or not all(is_numeric_dtype(X.iloc[:, at]) for at in range(X.shape[1]))


def feature_frame(X: Any, names: Sequence[str] | None) -> pandas.DataFrame:
    """Return features as a DataFrame; the columns of an array have these names, or x0, x1, … if there are none."""
    import pandas

    if isinstance(X, np.ndarray):
        return pandas.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])] if names is None else list(names))
    frame = (X.to_pandas() if hasattr(X, "to_pandas") else X).reset_index(drop=True)
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def refuse_texts(*arrays: Any) -> None:
    """Refuse arrays of texts that are no numbers: scikit-learn's own message would quote a cell."""
    for array in arrays:
        if isinstance(array, (np.ndarray, list)) and getattr(array, "dtype", np.dtype(object)).kind in "OUS":
            with refuse_on(ValueError, TEXTS):
                for cell in np.array(array, dtype=object).flat:
                    if isinstance(cell, str | bytes):
                        float(cell)
