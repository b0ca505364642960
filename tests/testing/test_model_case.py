"""What the checks of a model are tried on."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.testing.checks import NotApplicable
from dpbench.testing.model_case import ModelCase, overrides


def test_margins_are_the_products_of_rows_and_weights(make) -> None:
    x, y, weights = ModelCase(make("model", "linear")).along(0.5, np.array([1.0, 2.0]))
    assert (x @ weights).tolist() == [1.0, 2.0]
    assert y.tolist() == [0.5, 0.5]


def test_a_law_about_a_capability_does_not_apply_without_it(make) -> None:
    with pytest.raises(NotApplicable, match="does not provide 'polynomial'"):
        ModelCase(make("model", "robust")).require("polynomial")


def test_a_method_of_the_base_class_is_not_an_implementation(make) -> None:
    assert overrides(ModelCase(make("model", "linear")).regular, "gradient")
    assert not overrides(ModelCase(make("model", "linear")).regular, "irls_weights")
