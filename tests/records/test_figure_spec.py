"""A figure spec has a default for everything, and refuses values that no figure has."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.records.figure_spec import FigureSpec


def test_by_default_it_is_the_median_against_epsilon() -> None:
    spec = FigureSpec()
    assert (spec.form, spec.x, spec.statistic, spec.band, spec.references) == ("lines", "epsilon", "median", "quantiles", None)


def test_lists_of_yaml_become_tuples() -> None:
    assert FigureSpec(y=["utility/mse"], log=[]) == FigureSpec(y=("utility/mse",), log=())


@pytest.mark.parametrize("field", [{"statistic": "mode"}, {"band": "std"}, {"y": "utility/mse"}, {"x": 1}])
def test_nonsense_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=f"'{next(iter(field))}' option of preset.figure must be"):
        FigureSpec(**field)
