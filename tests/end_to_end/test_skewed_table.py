"""A user's table with a skewed target and too narrow bounds: what a sweep says about it, and what a release predicts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.__main__ import main

BOUNDS = """
target: wage
columns:
  size: {low: 1, high: 1000, transform: log}
  hours: [0, 10]
  job: {levels: [clerk, smith], other: true}
  wage: {low: 1, high: 100000, unit: USD, transform: log}
"""
TABLE = ("dataset=table", "dataset.path=people.csv", "dataset.bounds=people.yaml")


@pytest.fixture
def people(alone: None, tmp_path: Path) -> pandas.DataFrame:
    """3,000 persons whose logarithm of the wage is linear in that of the size; most of them work for more than ten hours.

    Half of them have jobs that are not declared.
    """
    generator = np.random.default_rng(0)
    size, hours = np.exp(generator.uniform(0, np.log(1_000), 3_000)), generator.integers(0, 60, 3_000)
    job = generator.choice(["clerk", "smith", "baker", "astronaut"], 3_000)
    wage = 20 * size * np.exp(0.3 * generator.normal(size=3_000))
    frame = pandas.DataFrame({"size": size, "hours": hours, "job": job, "wage": wage})
    frame.to_csv("people.csv", index=False)
    Path("people.yaml").write_text(BOUNDS)
    return frame


def test_a_sweep_shows_errors_in_the_unit_and_warns_of_clipped_features(
    people: pandas.DataFrame, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*TABLE, "mechanism=fm", "splits.repeats=3"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "linear on table people: rmse on the scaled target (log)" in printed
    assert "in USD" in printed
    share = float((people["hours"] > 10).mean())
    assert f"table people: {share:.0%} of the values of 'hours' lie outside the declared bounds and are clipped" in printed
    (file,) = tmp_path.rglob("clipped.json")
    assert json.loads(file.read_text())["features"] == {"size": 0.0, "hours": pytest.approx(share)}
    options = {"splits.repeats": 3, "dataset.path": "people.csv", "dataset.bounds": "people.yaml"}
    (cell,) = dpbench.sweep(options, dataset="table", mechanism="fm", record=False).full.to_dict("records")
    assert cell["health/features_clipped"] == pytest.approx(share)
    assert cell["dpbench.target_unit"] == "USD"
    # least squares of the logarithms, computed here, on all rows
    x = np.column_stack([np.ones(3_000), np.log(people["size"]), people["hours"].clip(0, 10)])  # the job says nothing
    log_wage = np.log(people["wage"].clip(1, 1e5))
    predicted = np.exp(x @ np.linalg.lstsq(x, log_wage, rcond=None)[0]).clip(1, 1e5)
    error = float(np.sqrt(np.mean((people["wage"].clip(1, 1e5) - predicted) ** 2)))
    assert cell["reference/no_privacy/rmse_raw_mean"] == pytest.approx(error, rel=0.03)


@pytest.mark.skipif(importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed: dp-regression-bench[secure]")
def test_a_release_predicts_a_transformed_target_in_its_unit(
    people: pandas.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", *TABLE, "mechanism=fm", "epsilon=10", "out=model.json"]) == 0, capsys.readouterr().err
    model = dpbench.load_release("model.json")
    assert "close to its median, not to its mean" in model.statement
    predicted = model.predict(people)
    assert ((predicted >= 1) & (predicted <= 1e5)).all()
    # half of the wages are below their predictions, as their median is; their mean is 4.6 % above it
    assert np.mean(people["wage"] < predicted) == pytest.approx(0.5, abs=0.1)
    assert np.median(np.abs(np.log(people["wage"] / predicted))) < 0.4
    rare = [model.predict({"size": [9], "hours": [5], "job": [job]}) for job in ("astronaut", "juggler", "other")]
    assert rare[0] == rare[1] == rare[2]
    text = Path("model.json").read_text()
    assert '"transform": {' in text
    assert "clipped" not in text, "how many values were clipped is private"
