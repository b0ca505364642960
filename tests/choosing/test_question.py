"""A question says what is fixed and what is wanted; a wrong one is refused in a sentence."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.choosing.question import Question, epsilon_of_risk, risk_of_epsilon


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "needs a target"),
        ({"error": 0.1}, "needs rows="),
        ({"rows": 1, "error": 0.1}, "at least 2"),
        ({"rows": True, "error": 0.1}, "at least 2"),
        ({"rows": 100, "error": 1.5}, "'target_error' must be a number between 0 and 1"),
        ({"rows": 100, "error": math.nan}, "target_error"),
        ({"rows": 100, "error": "10%"}, "'target_error' must be a number between 0 and 1. Got '10%'"),
        ({"rows": 100, "interval": 1}, "'target_interval' must be a number above 1"),
        ({"rows": 100, "rmse": -1}, "target_rmse"),
        ({"rows": 100, "error": 0.1, "rmse": 3}, "one target"),
        ({"rows": 100, "epsilon": math.inf}, "'epsilon'"),
        ({"rows": 100, "epsilon": 1, "delta": 0}, "'delta'"),
        ({"rows": 100, "epsilon": 1, "risk": 0.6}, "leave one of them out"),
        ({"rows": 100, "risk": 0.5}, "'target_risk'"),
    ],
)
def test_a_wrong_question_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        Question(**fields)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("risk", [0.51, 0.6, 0.9, 0.999])
def test_a_risk_and_its_epsilon_imply_each_other(risk: float, delta: float) -> None:
    epsilon = epsilon_of_risk(risk, delta)
    assert risk_of_epsilon(epsilon, delta) == pytest.approx(risk, rel=1e-9)
    assert Question(rows=10, risk=risk, delta=delta).allowed_epsilon <= epsilon


def test_a_risk_that_delta_alone_exceeds_has_no_epsilon() -> None:
    with pytest.raises(Refused, match="met by no ε"):
        epsilon_of_risk(0.5001, 0.01)
