"""A released model as a model of MLflow: from code, without pickle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import yaml

from dpbench.base.errors import Refused
from dpbench.data.column_format import ColumnFormat
from dpbench.releases.mlflow_model import check_name, register_release, write_mlflow_model
from dpbench.releases.release_file import Release

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*Any type hint:UserWarning")]  # MLflow's own, when imported
ROWS = pandas.DataFrame({"age": [25.0, 40.5, 99.0], "town": ["north", "the west", "south"]})


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Release], Any]:
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")

    def load(release: Release) -> Any:
        from mlflow import pyfunc

        write_mlflow_model(release, tmp_path / "model")
        return pyfunc.load_model(str(tmp_path / "model"))

    return load


def test_predictions_are_those_of_the_release_bit_for_bit(
    wages: Callable[..., Release], loaded: Callable[[Release], Any]
) -> None:
    predicted = loaded(wages()).predict(ROWS)
    assert list(predicted.columns) == ["predicted_wage"]
    np.testing.assert_array_equal(predicted["predicted_wage"], wages().predict(ROWS))


def test_intervals_are_a_parameter(wages: Callable[..., Release], loaded: Callable[[Release], Any], intervals_of: Any) -> None:
    sure = replace(wages(), inference=intervals_of(wages()))
    predicted = loaded(sure).predict(ROWS, params={"interval": 0.9})
    assert list(predicted.columns) == ["predicted_wage", "predicted_wage_low", "predicted_wage_high"]
    np.testing.assert_array_equal(predicted, sure.predict(ROWS, interval=0.9))


def test_the_signature_comes_from_the_columns_and_the_metadata_from_the_ledger(
    wages: Callable[..., Release], loaded: Callable[[Release], Any]
) -> None:
    release = wages(formats={"age": ColumnFormat(part="year"), "town": wages().formats["town"]})
    metadata = loaded(release).metadata
    assert [(column.name, column.type.name) for column in metadata.signature.inputs] == [("age", "string"), ("town", "string")]
    assert [(column.name, column.type.name) for column in metadata.signature.outputs] == [("predicted_wage", "double")]
    facts = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace_one", "rows": 6000, "noise": "secure", "synthetic": False}
    assert metadata.metadata | facts == metadata.metadata
    assert metadata.metadata["statement"] == release.statement


def test_the_model_holds_code_and_no_pickle_and_names_no_folder_of_this_machine(
    wages: Callable[..., Release], tmp_path: Path
) -> None:
    write_mlflow_model(wages(), tmp_path / "model")
    files = {path.name for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert {"MLmodel", "model.json", "served_model.py"} <= files
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".joblib"))]
    written = yaml.safe_load((tmp_path / "model" / "MLmodel").read_text())
    assert "python_model" not in written["flavors"]["python_function"]
    assert str(Path(__file__).parents[2]) not in str(written)


def test_every_registration_is_a_new_version(wages: Callable[..., Release], tmp_path: Path) -> None:
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    first, second = (register_release(wages(), "wages", uri, "a note") for _ in range(2))
    assert [first.address, second.address] == ["models:/wages/1", "models:/wages/2"]
    assert (first.store, first.is_default) == (uri, False)
    version = MlflowClient(uri).get_model_version("wages", "2")
    assert (version.tags["epsilon"], version.tags["neighbours"]) == ("1.0", "replace_one")
    assert version.description == wages().statement


@pytest.mark.parametrize("name", ["", "a/b", "a:1", "two words", "ä"])
def test_a_name_that_mlflow_cannot_address_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="as in mlflow=wages"):
        check_name(name)
