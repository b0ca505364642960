"""Sweeps from Python: the command line's names as keywords, and a result that can be read back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.base.errors import Refused

SMALL: dict[str, Any] = {"dataset": "wine", "splits.repeats": 2, "splits.folds": 2}


def test_a_list_is_swept_and_the_rest_is_fixed(empty: Any) -> None:
    frame = dpbench.sweep(SMALL, mechanism=["fm", "dpba"], epsilon=[0.1, 0.8], record=False).full
    assert isinstance(frame, pandas.DataFrame)
    assert frame[["mechanism", "epsilon"]].values.tolist() == [["fm", 0.1], ["fm", 0.8], ["dpba", 0.1], ["dpba", 0.8]]
    assert (frame["state"] == "run").all()
    assert (frame["dataset"] == "wine").all()
    assert (frame["splits"] == "2 x 2-fold").all()
    assert frame["epsilon"].dtype == frame["delta"].dtype == float
    assert frame["privacy/epsilon_accounted"].tolist() == frame["epsilon"].tolist()
    assert frame["utility/rmse_median"].between(0.01, 10).all()
    assert (frame["dpbench.guarantee"] == "claimed").all()
    assert frame.columns.is_unique
    assert empty.files == [], "nothing is recorded unless asked"


def test_it_is_recorded_by_default_as_the_command_would(home: Any) -> None:
    asked: dict[str, Any] = {"mechanism": ["fm", "no_privacy"], "epsilon": [0.1, 0.8], "dataset": "gaussian"}
    options = {**SMALL, "dataset.n": 60, "dataset.d": 2}
    first = dpbench.sweep(options, **asked).full
    assert home.files == ["mlartifacts", "mlflow.db"]
    again = dpbench.sweep(options, **asked).full
    assert (first["state"] == "run").all()
    assert (again["state"] == "resumed").all()
    for name in first.columns:
        if name.startswith(("utility/", "reference/", "privacy/", "health/")):
            pandas.testing.assert_series_equal(first[name], again[name])
    (parent,) = home.runs("sweep", sweep_key=home.runs("sweep")[0].data.tags["dpbench.sweep_key"])[:1]
    assert parent.info.status == "FINISHED"
    command = (
        "-m mechanism=fm,no_privacy epsilon=0.1,0.8 dataset=gaussian splits.repeats=2 splits.folds=2 dataset.n=60 dataset.d=2"
    )
    assert home.run(*command.split()).counted == "Cells: 0 run, 3 already recorded (rerun=true runs them again)."


def test_keys_with_a_dot_go_first_and_are_columns_when_swept() -> None:
    frame = dpbench.sweep({"mechanism.ridge": ["auto", 2, 4.5], **SMALL}, mechanism="fm", record=False).full
    assert frame["mechanism.ridge"].tolist() == ["auto", "2", "4.5"]
    assert "splits.repeats" not in frame


def test_a_tuple_is_a_value_that_is_itself_a_list() -> None:
    frame = dpbench.sweep({"dataset.attributes": [("alcohol",), ("alcohol", "ph"), None], **SMALL}, record=False).full
    assert len(frame) == 3
    assert len(dpbench.sweep({"dataset.attributes": ("alcohol", "ph"), **SMALL}, record=False).full) == 1


@pytest.mark.parametrize(
    "values",
    [np.geomspace(0.1, 0.8, 2), list(np.geomspace(0.1, 0.8, 2)), [np.float32(0.125), np.float64(0.75)], range(1, 3)],
    ids=["array", "list of NumPy numbers", "mixed", "range"],
)
def test_what_numpy_and_python_call_a_sequence_is_swept_too(values: Any) -> None:
    expected = [float(value) for value in values]
    frame = dpbench.sweep(SMALL, epsilon=values, seed=np.int64(3), record=False).full
    assert frame["epsilon"].tolist() == pytest.approx(expected, rel=1e-12)


def test_the_frame_says_exactly_which_epsilon_was_asked() -> None:
    asked = [1 / 3, 0.1 + 0.2, 1e-5 / 7]
    assert dpbench.sweep(SMALL, epsilon=asked, record=False).full["epsilon"].tolist() == asked


def test_a_pruned_or_failed_cell_is_a_row_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.registry.lookup import registry

    def fail(*_: object) -> None:
        raise ArithmeticError("no")

    monkeypatch.setattr(registry().get("mechanism", "dpba"), "fit", fail)
    frame = dpbench.sweep(SMALL, mechanism=["fm", "dpba"], record=False, engine="serial").full
    assert frame["state"].tolist() == ["run", "failed"]
    assert frame["reason"][0] == ""
    assert frame["reason"][1].startswith("ArithmeticError: no")
    assert np.isnan(frame["utility/rmse_median"][1])


@pytest.mark.parametrize(
    ("options", "grid", "words"),
    [
        ({}, {"epsilon": 0}, r"'epsilon' option of the command must be a float in the range \(0, inf\)\. Got 0 instead"),
        ({}, {"epsilon": float("nan")}, "Got nan instead"),
        ({}, {"epsilon": []}, "A swept list must hold at least one value"),
        ({}, {"mechanism": "fmm"}, r"no mechanism named 'fmm'\. Did you mean fm"),
        ({}, {"mechansim": "fm"}, r"no key named 'mechansim'\. Did you mean mechanism"),
        ({"mechanism.rigde": 4}, {}, r"no option of fm named 'rigde'\. Did you mean ridge"),
        ({"tracking.uri": "nonsense"}, {"record": True}, "The tracking store must be a URI"),
        ({"engine.workers": 0}, {}, r"'engine\.workers' key must be an int"),
        ({"dataset.attributes": 'it\'s, "x" = [1]'}, {}, "must be a list .*Got 'it"),
        ({}, {"dataset": "a,b"}, "no dataset named 'a,b'"),
        ({}, {"experiment": "nope"}, "no experiment named 'nope'"),
    ],
)
def test_nonsense_is_refused_and_nothing_is_written(
    empty: Any, options: dict[str, Any], grid: dict[str, Any], words: str
) -> None:
    with pytest.raises(Refused, match=words):
        dpbench.sweep(options, **{"dataset": "wine", "record": False, **grid})
    assert empty.files == []


@pytest.mark.parametrize(
    "text",
    ["plain", "", "a b", "it's", 'say "x"', "a,b", "a=b", "[1]", "{a:1}", "back\\slash", "5", "true", "null", "ε", "$x", "a\\'b"],
)
def test_a_text_stays_the_text_it_is(empty: Any, text: str) -> None:
    """The option wants one of four words, and says what it got."""
    with pytest.raises(Refused) as refusal:
        dpbench.sweep({"mechanism.repair": text}, record=False)
    allowed = "'trim', 'floor', 'none', 'stationary'"
    assert str(refusal.value) == f"The 'repair' option of fm must be one of {allowed}. Got {text!r} instead."


def test_a_script_needs_no_guard_for_workers(empty: Any) -> None:
    """Workers do not run the caller's program again, whose sweep they would begin anew, and record."""
    script = empty.folder / "script.py"
    script.write_text(
        "import dpbench\n"
        "print('begun')\n"
        "options = {'dataset': 'wine', 'splits.repeats': 1, 'splits.folds': 2, 'engine.workers': 1}\n"
        "frame = dpbench.sweep(options, mechanism=['fm', 'dpba'], engine='local', record=False).full\n"
        "print(*frame['state'])\n"
    )
    result = subprocess.run([sys.executable, script.name], cwd=empty.folder, capture_output=True, text=True, timeout=60)
    assert result.stdout == "begun\nrun run\n"
    assert "Traceback" not in result.stderr
    assert Path(empty.folder, "mlflow.db").exists() is False


def test_a_frame_has_no_column_of_bookkeeping() -> None:
    frame = dpbench.sweep(
        {"splits.repeats": 2, "dataset.sample_n": 400}, record=False, mechanism="fm", dataset="wine", epsilon=1.0
    ).full
    assert not {"run_id", "primary", "detail"} & set(frame)


@pytest.mark.parametrize("key", ["dataset", "dataset.path"])
@pytest.mark.parametrize(
    "rows",
    [np.array([73519.8317, 2.0]), [73519.8317, 3], pandas.Series([73519.8317]), {"pay": [73519.8317]}, 73519.8317, (73519.8317,)],
    ids=["array", "list", "series", "dict", "number", "tuple"],
)
def test_rows_that_are_no_table_are_refused_without_showing_them(key: str, rows: Any) -> None:
    with pytest.raises(Refused) as refusal:
        dpbench.sweep({key: rows}, record=False)
    assert str(refusal.value).startswith(f"{key} must be")
    assert "73519" not in str(refusal.value)


def test_keys_may_vary_together_and_combinations_be_left_out() -> None:
    """As lists and mappings of Python: one list is a group of keys, or several lists are several groups."""
    asked: dict[str, Any] = {"mechanism": ["fm", "dpba"], "epsilon": [0.1, 1.0], "seed": [1, 2], "record": False}
    options = {**SMALL, "dataset": "gaussian", "dataset.n": 60, "dataset.d": 2}
    for together in (["epsilon", "seed"], ("epsilon", "seed"), [["epsilon", "seed"]]):
        frame = dpbench.sweep(options, zip=together, skip={"mechanism": "dpba", "epsilon": ">= 0.5"}, **asked).full
        assert list(zip(frame["mechanism"], frame["epsilon"], frame["seed"], strict=True)) == [
            *(("fm", 0.1, "1"), ("fm", 1.0, "2"), ("dpba", 0.1, "1")),
        ]
    several = [{"mechanism": "fm", "epsilon": [0.1, 1.0]}, {"seed": 2}]
    assert list(dpbench.sweep(options, skip=several, **asked).full["epsilon"]) == [0.1, 1.0]


def test_a_mechanism_without_a_budget_has_no_epsilon() -> None:
    options = {**SMALL, "dataset": "gaussian", "dataset.n": 60, "dataset.d": 2}
    frame = dpbench.sweep(options, mechanism="no_privacy", epsilon=[0.1, 1.0], record=False).full
    assert len(frame) == 1
    assert frame[["epsilon", "delta"]].isna().all(axis=None)


def test_a_recorded_sweep_is_read_back(home: Any) -> None:
    options = {**SMALL, "dataset": "gaussian", "dataset.n": 60, "dataset.d": 2}
    result = dpbench.sweep(options, mechanism=["fm", "no_privacy"], epsilon=[0.1, 0.8])
    again = dpbench.load(result.sweep.run_id[:6])
    pandas.testing.assert_frame_equal(again.frame.drop(columns="state"), result.frame.drop(columns="state"))
    assert again.answer == result.answer
    assert dpbench.load().sweep.run_id == result.sweep.run_id
    with pytest.raises(Refused, match="no finished sweep 'nothing'"):
        dpbench.load("nothing")
