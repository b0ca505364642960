"""``dpbench.choose`` uses the number of rows of a table, and no value in it."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.base.errors import Refused


def frame(seed: int, rows: int = 300) -> pandas.DataFrame:
    generator = np.random.default_rng(seed)
    return pandas.DataFrame({name: generator.uniform(1, 2, rows) for name in ("age", "tall", "sex", "wage")})


@pytest.mark.slow
def test_two_tables_with_other_values_get_the_same_answer(columns: dict[str, Any], tmp_path: Path) -> None:
    options = {"target": "wage", "mechanism": "ssp", "target_error": 0.1}
    answers = []
    for seed in (0, 1):
        path = tmp_path / "people.csv"
        frame(seed).to_csv(path, index=False)
        answers.append(str(dpbench.choose(bounds=columns, data=str(path), **options)))
    path.write_text("age,tall,sex,wage\n" + "not a number,,x,\n" * 300)
    answers.append(str(dpbench.choose(bounds=columns, data=str(path), **options)))
    assert answers[0] == answers[1] == answers[2]
    by_count = dpbench.choose(300, columns, **options)
    assert dpbench.choose(bounds=columns, data=frame(2), **options).epsilon == by_count.epsilon
    path.write_text("age,tall,sex,wage\n" + "1,1,f,1\n" * 3000)
    assert dpbench.choose(bounds=columns, data=str(path), **options).epsilon.safe < by_count.epsilon.safe


@pytest.mark.slow
def test_no_file_is_read_when_the_rows_are_given(columns: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    dpbench.choose(300, columns, target="wage", mechanism="ssp", target_error=0.1)  # imports what it needs

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_text", refuse)
    dpbench.choose(300, columns, target="wage", mechanism="ssp", target_error=0.2)


def test_the_answer_says_what_it_rests_on_and_what_to_do(columns: dict[str, Any]) -> None:
    answer = dpbench.choose(3_000, columns, target="wage", mechanism="ssp", target_error=0.1)
    assert "No row was read" in str(answer)
    assert answer.epsilon is not None
    assert answer.command(answer.epsilon.safe) in str(answer)
    assert answer.mechanism == "ssp"
    assert answer.share_lost is None
    assert answer.rows is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bounds": None}, "needs the bounds"),
        ({"data": frame(0)}, "leave one of them out"),
        ({"target_rmse": 3, "target_error": None, "target": "sex", "model": "logistic"}, "target_rmse"),
        ({"target_interval": 2, "target_error": None}, "columns of numbers"),
        ({"mechanism": "nothing"}, "one of best"),
        ({"rows": None, "data": 3}, "a file's name or a table"),
    ],
)
def test_wrong_arguments_are_refused(columns: dict[str, Any], arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        dpbench.choose(**{"rows": 300, "bounds": columns, "target": "wage", "target_error": 0.1, **arguments})


@pytest.mark.slow
def test_wider_intervals_need_less_epsilon(columns: dict[str, Any]) -> None:
    numbers = {name: column for name, column in columns.items() if "levels" not in column}
    options = {"target": "wage", "mechanism": "ssp"}
    narrow, wide = (dpbench.choose(3_000, numbers, target_interval=ratio, **options).epsilon for ratio in (1.2, 3.0))
    assert narrow is not None
    assert wide is not None
    assert wide.safe < narrow.safe < np.inf


@pytest.mark.slow
def test_classes_are_chosen_for_too(columns: dict[str, Any]) -> None:
    answer = dpbench.choose(5_000, columns, target="sex", model="logistic", mechanism="ssp", target_error=0.5)
    assert answer.epsilon is not None
    assert answer.epsilon.typical > 0
