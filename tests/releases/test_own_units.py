"""The equation in own units predicts what the release predicts, under every scaling that has own units."""

from __future__ import annotations

import numpy as np
import pytest
from release_factory import make_release

from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.releases.own_units import linear_equation
from dpbench.releases.release_file import Release

AGE, SEX = Column("age", 18, 70), Column("sex=m", 0, 1, group="sex")
DATA = {"age": np.array([18.0, 40.0, 70.0]), "sex=m": np.array([0.0, 1.0, 1.0])}


def made(**changes: object) -> Release:
    weights = {"intercept": 0.1, "age": 0.25, "sex=m": 0.125}
    fields: dict[str, object] = {"columns": (AGE, SEX), "target": Column("wage", 0, 3000), "weights": weights}
    return make_release(**{**fields, **changes})


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_the_equation_predicts_what_the_release_predicts(scaling: str) -> None:
    release = made(scaling=scaling)
    equation = linear_equation(release)
    by_hand = equation.intercept + np.column_stack([DATA[name] for name in equation.names]) @ equation.coefficients
    assert by_hand == pytest.approx(release.predict(DATA, clip=False), abs=0.1)  # scaled values have 16 binary digits


def test_without_an_intercept_it_starts_in_the_middle_of_the_target() -> None:
    release = made(model={"name": "linear", "intercept": False}, intercept=False, weights={"age": 0.25, "sex=m": 0.125})
    equation = linear_equation(release)
    assert equation.intercept + equation.coefficients[0] * 44 == pytest.approx(1500)


def test_a_transformed_column_has_no_coefficient_in_its_unit() -> None:
    equation = linear_equation(made(columns=(Column("age", 18, 70, transform=Transform("log")), SEX)))
    assert np.isnan(equation.coefficients).tolist() == [True, False]
    assert np.isnan(equation.intercept)
