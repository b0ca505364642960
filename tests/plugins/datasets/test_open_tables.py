"""The public tables: every row, its declarations, and the numbers that least squares gave elsewhere."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.scaling import scale
from dpbench.data.table import Table
from dpbench.registry.lookup import registry
from dpbench.releases.release_file import Release
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

PLUGIN = inspect.getsourcefile(registry().get("dataset", "open"))
assert PLUGIN is not None
FOLDER = Path(PLUGIN).parent / "data" / "open"
FACTS: dict[str, dict[str, Any]] = json.loads((FOLDER / "tables.json").read_text("utf-8"))["tables"]
FOLDS = 5


def reference_errors(table: Table) -> tuple[float, float, float]:
    """Return the root mean squared errors of least squares and of the mean out of fold, and of least squares on all rows.

    Folds, coding and solution are those of ``conventions`` in tables.json. Sums over the folds need one pass over the rows.
    """
    columns = (*table.columns, table.target)
    values = np.column_stack([table.features, table.response])
    z = np.column_stack([np.ones(table.rows), *(column.to_box(values[:, at]) for at, column in enumerate(columns))])
    parts = np.array_split(np.random.default_rng(0).permutation(table.rows), FOLDS)
    grams = [z[part].T @ z[part] for part in parts]
    whole = np.sum(grams, axis=0)
    pairs = [(whole - gram, gram) for gram in grams]
    fitted = sum(squared_error(least_squares(train), test) for train, test in pairs)
    mean = sum(squared_error(np.r_[train[0, -1] / train[0, 0], np.zeros(len(train) - 2)], test) for train, test in pairs)
    in_sample = squared_error(least_squares(whole), whole)
    return tuple(float(np.sqrt(error / table.rows)) for error in (fitted, mean, in_sample))


def least_squares(gram: np.ndarray) -> np.ndarray:
    """Return the weights of the least norm: some designs are singular."""
    return np.linalg.pinv(gram[:-1, :-1], rcond=1e-13, hermitian=True) @ gram[:-1, -1]


def squared_error(weights: np.ndarray, gram: np.ndarray) -> float:
    residual = np.r_[-weights, 1.0]
    return float(residual @ gram @ residual)


@pytest.mark.parametrize("name", FACTS)
def test_a_table_is_the_declared_one_and_gives_its_reference_numbers(name: str, make: Any) -> None:
    facts, dataset = FACTS[name], make("dataset", "open", table=name)
    assert hashlib.sha256((FOLDER / f"{name}.parquet").read_bytes()).hexdigest() == facts["sha256"]
    table = dataset.select(stream(0))
    assert (table.rows, table.target.name, table.leaks) == (facts["rows"], facts["target"], ())
    assert set(table.attributes) == set(facts["columns"]) - {facts["target"]}
    outside = [np.mean((values < c.low) | (values > c.high)) for c, values in zip(table.columns, table.features.T, strict=True)]
    assert max(outside) <= 0.001
    fitted, mean, in_sample = reference_errors(table)
    reference = facts["reference"]
    if facts["task"] == "binary":
        assert fitted == pytest.approx(reference["ols_on_pm1_rmse"], abs=5.1e-6)
        assert mean == pytest.approx(reference["mean_on_pm1_rmse"], abs=5.1e-6)
        assert table.response.mean() == pytest.approx(reference["positive_share"], abs=5.1e-5)
        assert set(np.unique(table.response)) == {0, 1}
    else:
        assert fitted == pytest.approx(reference["ols_rmse_scaled"], abs=5.1e-6)
        assert mean == pytest.approx(reference["mean_rmse_scaled"], abs=5.1e-6)
        assert in_sample == pytest.approx(reference["ols_rmse_scaled_in_sample"], abs=5.1e-6)
        assert 1 - (fitted / mean) ** 2 == pytest.approx(reference["ols_r2"], abs=1e-4)
        above = np.mean(table.response > table.threshold)
        assert above == pytest.approx(reference["twin"]["positive_share"], abs=5.1e-5)


def test_the_tables_are_those_in_the_folder(make: Any) -> None:
    assert list(FACTS) == sorted(path.stem for path in FOLDER.glob("*.parquet"))
    assert [options["table"] for options in type(make("dataset", "open")).variants()] == list(FACTS)
    assert len({make("dataset", "open", table=name).fingerprint() for name in FACTS}) == 33


def test_a_typo_is_answered_with_near_names(make: Any) -> None:
    with pytest.raises(Refused, match=r"no table of dataset=open named 'air_qualty'\. Did you mean air_quality.* Known: "):
        make("dataset", "open", table="air_qualty")


def test_bounds_that_come_from_the_public_table_say_so(make: Any) -> None:
    remarks = {name: make("dataset", "open", table=name).remark for name in FACTS}
    for name, facts in FACTS.items():
        sources = [column.get("bounds_from", column.get("levels_from", "documented")) for column in facts["columns"].values()]
        assert ("range of the public table itself, rounded outwards" in remarks[name]) == (set(sources) != {"documented"})
        assert remarks[name].endswith(f"a row is {facts['rows_are']}.")
    assert "the bounds of 8 of 9 columns" in remarks["concrete"]
    assert "42 persons have about 140 each" in remarks["parkinsons"]
    assert "all bounds are documented" in remarks["brfss_diabetes"]


def test_licence_and_attribution_are_recorded_and_in_the_readme(make: Any) -> None:
    readme = (FOLDER.parent / "README.md").read_text("utf-8")
    for name in FACTS:
        dataset = make("dataset", "open", table=name)
        assert dataset.licence
        assert f"- `{name}`: {dataset.citation}. {dataset.licence}. " in readme
    (cell,) = plan(grid_points(["dataset=open", "dataset.table=diamonds", "mechanism=no_privacy"])).cells
    assert (cell.params["dataset"], cell.provenance.synthetic, cell.provenance.digest_key) == ("diamonds", False, "")
    assert cell.provenance.licence == "MIT (as part of the R package ggplot2)"
    assert cell.provenance.citation == "Hadley Wickham and the ggplot2 authors (2008), Prices of 53,940 diamonds"


def test_a_category_has_a_column_for_each_level_except_the_first(make: Any) -> None:
    table = make("dataset", "open", table="bank_marketing").select(stream(0))
    columns = {column.name: column for column in table.columns}
    assert [name for name in columns if name.startswith("marital")] == ["marital=married", "marital=single"]
    assert columns["marital=single"].group == "marital"
    assert (columns["housing"].kind, columns["housing"].group, columns["housing"].meaning) == ("binary", None, "1 = yes")


def test_a_released_model_reads_the_cells_of_the_table_itself(make: Any) -> None:
    table = make("dataset", "open", table="german_credit").select(stream(0))
    design = tuple(column.name for column in table.columns)
    weights = {name: float(at) for at, name in enumerate(("intercept", *design))}
    facts = {"model": {"name": "linear"}, "mechanism": {}, "dataset": {}, "privacy": {}, "statement": "", "threshold": None}
    facts |= {"columns": table.columns, "target": table.target, "formats": table.formats, "kind": "real", "scaling": "box"}
    release = Release(**facts, radius=None, intercept=True, weights=weights)
    predicted = release.predict(pandas.read_parquet(FOLDER / "german_credit.parquet"), clip=False)
    rows = scale(table, "box", True, "real")
    np.testing.assert_allclose(predicted, table.target.from_box(rows.x @ np.arange(len(weights))), rtol=1e-9)


def test_every_table_has_a_target_for_either_kind_of_model(make: Any) -> None:
    binary, real = (make("dataset", "open", table=name).select(stream(0)) for name in ("german_credit", "concrete"))
    assert (binary.target.low, binary.target.high, binary.threshold) == (0, 1, 0.5)
    assert (real.target.low, real.target.high, real.threshold) == (0, 90, 35)
    request = ["dataset=open", "dataset.table=german_credit,concrete", "model=linear,logistic", "mechanism=no_privacy"]
    assert [cell.state for cell in plan(grid_points(request)).cells] == ["run"] * 4


def test_a_file_that_was_changed_is_refused(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make("dataset", "open", table="airfoil")
    monkeypatch.setitem(dataset._facts, "sha256", "0" * 64)
    with pytest.raises(Refused, match="table=airfoil has been changed"):
        dataset.select(stream(0))
