"""An ONNX file predicts what the release predicts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import PackageMissing
from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.releases.onnx_check import made_up_rows
from dpbench.releases.onnx_model import onnx_bytes, require
from dpbench.releases.release_file import Release

REASON = "{} is not installed: pip install 'dp-regression-bench[onnx]'"
NUMBERS = (Column("age", 18, 70), Column("years", 0, 40))
TRANSFORMS = (
    Column("rent", 10, 5000, transform=Transform("log")),
    Column("savings", 0, 9e5, transform=Transform("log1p")),
    Column("hours", 1, 99, transform=Transform("quantile", (1.0, 30.0, 40.0, 99.0))),
)


@pytest.fixture(scope="module")
def session() -> Callable[[Release], Any]:
    """A session of ONNX Runtime with the file of a release, which answers a mapping of columns."""
    pytest.importorskip("onnx", reason=REASON.format("onnx"))
    onnxruntime = pytest.importorskip("onnxruntime", reason=REASON.format("onnxruntime"))
    onnxruntime.set_default_logger_severity(4)  # a row that is refused is logged, too

    def opened(release: Release) -> Callable[[dict[str, Any]], np.ndarray]:
        runtime = onnxruntime.InferenceSession(onnx_bytes(release))

        def run(data: dict[str, Any]) -> np.ndarray:
            cells = {name: np.asarray(values).reshape(-1, 1) for name, values in data.items()}
            (predicted,) = runtime.run([f"predicted_{release.target.name}"], cells)
            return np.asarray(predicted)[:, 0]

        return run

    return opened


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"intercept": False},
        {"scaling": "ball"},
        {"scaling": "corner", "columns": NUMBERS, "intercept": False},
        {"scaling": "ball", "columns": NUMBERS, "radius": 40.0},
        {"columns": TRANSFORMS},
        *({"target": Column("wage", 1, 3000, transform=column.transform)} for column in TRANSFORMS[:2]),
        {"target": Column("wage", 1, 99, transform=TRANSFORMS[2].transform)},
        {"columns": (Column("step_0", 0, 1), Column("a b/c:ü", -1, 1)), "formats": {}},
        {"columns": (Column("town_1", 0, 1, group="town"), Column("town_2", 0, 1, group="town")), "formats": {}},
        {"kind": "binary", "threshold": 900.0, "model": "logistic"},
    ],
    ids=str,
)
def test_predictions_agree_to_float32(
    wages: Callable[..., Release], session: Callable[[Release], Any], make: Any, changes: dict[str, Any]
) -> None:
    if "model" in changes:
        changes = {**changes, "model": {"name": changes["model"], **make("model", changes["model"]).options()}}
    release = wages(**changes)
    data = made_up_rows(release, rows=3000)
    expected = release.predict(data)
    assert len(np.unique(expected.round(6))) >= min(len(release.columns), 3), "a constant would prove nothing"
    np.testing.assert_allclose(session(release)(data), expected, rtol=1e-9)


def test_cells_mean_what_they_meant_in_the_fit(wages: Callable[..., Release], session: Callable[[Release], Any]) -> None:
    formats = {
        "age": ColumnFormat(missing="30", nulls=("-9",)),
        "town": ColumnFormat(("north", "south", "the west"), missing="south", other="the west", nulls=("?",)),
    }
    release = wages(formats=formats)
    data = {"age": [-9.0, np.nan, 30.0, 30.0, 30.0], "town": ["north", "north", "?", "", "elsewhere"]}
    found = session(release)(data)
    expected = {"age": [30.0] * 5, "town": ["north", "north", "south", "south", "the west"]}
    np.testing.assert_allclose(found, release.predict(expected), rtol=1e-12)
    np.testing.assert_allclose(found[2:], release.predict(data)[2:], rtol=1e-12)


@pytest.mark.parametrize("town", ["nowhere", ""])
def test_an_unknown_level_is_refused_by_the_runtime(
    wages: Callable[..., Release], session: Callable[[Release], Any], town: str
) -> None:
    with pytest.raises(Exception, match="Unknown Category"):
        session(wages())({"age": [30.0], "town": [town]})


def test_a_missing_number_that_nothing_stands_for_gives_no_number(
    wages: Callable[..., Release], session: Callable[[Release], Any]
) -> None:
    assert np.isnan(session(wages())({"age": [np.nan], "town": ["north"]})).all()


def test_the_part_of_a_date_is_a_number(wages: Callable[..., Release], session: Callable[[Release], Any]) -> None:
    release = wages(
        columns=(Column("hired", 1990, 2030, kind="integer"),), formats={"hired": ColumnFormat(part="year", whole=True)}
    )
    np.testing.assert_allclose(session(release)({"hired": [2004.0]}), release.predict({"hired": ["2004-05-06"]}), rtol=1e-12)


def test_the_file_says_what_is_promised(wages: Callable[..., Release]) -> None:
    onnx = pytest.importorskip("onnx", reason=REASON.format("onnx"))
    release = wages()
    model = onnx.load_from_string(onnx_bytes(release))
    assert model.doc_string == release.statement
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts | {"epsilon": "1.0", "delta": "1e-06", "neighbours": "replace_one", "noise": "secure"} == facts


def test_without_the_package_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PackageMissing, match=r"pip install 'dp-regression-bench\[onnx\]' \(onnx, onnxruntime\)"):
        require()
