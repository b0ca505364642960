"""Every mechanism × model × dataset either runs, without a warning or a number that is none, or is pruned with a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.registry.lookup import build, registry
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.engines.serial import Serial
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import SweepPlan, plan
from dpbench.sweeps.running import run_cells

TABLES = {
    "wine": ("dataset=wine", "dataset.sensitive=[alcohol]"),
    "gaussian": ("dataset=gaussian", "dataset.n=400", "dataset.d=7", "dataset.sensitive=[x1]"),
    "singular": (
        "dataset=table",
        "dataset.path=singular.csv",
        "dataset.target=income",
        "dataset.bounds={education:[0,25],work:[0,50],age:[0,100],income:[0,40000]}",
        "dataset.levels={sex:[f,m]}",
        "dataset.threshold=20000",
        "dataset.sensitive=[sex]",
    ),
}
# two bins of 12 attributes are 4,096 cells; without the limits a histogram has a million
GRID = (
    "mechanism=glob(*)",
    "model=glob(*)",
    "epsilon=0.01,1,100",
    "splits.repeats=1",
    "splits.folds=2",
    "mechanism.cells=5000",
    "mechanism.size=600",
)
NEEDS_SENSITIVE = ("dpc", "drop_sensitive")


def ran(planned: SweepPlan) -> list[CellRecord]:
    records: list[CellRecord] = []
    run_cells(planned, Serial(), records.append, Audits(planned, {}))
    return records


def name(record: CellRecord) -> str:
    return " ".join(record.params[key] for key in ("mechanism", "model", "dataset", "epsilon"))


UNDEFINED = ("utility/ols_se", "utility/share_lost", "inference/")
"""Metrics that a run may lack, as their meaning says: a singular design has no standard errors, a hopeless fit no way to lose."""


def faults(records: Sequence[CellRecord]) -> list[str]:
    """What is wrong with a cell: it failed (a warning is an error here), a run has no number, or a metric is none."""
    problems = [f"{name(record)}: {record.reason}" for record in records if record.state != "run"]
    for record in records:
        numbers = {key: values for key, values in record.detail.runs.items() if values.dtype.kind == "f"}
        gaps = [key for key, values in numbers.items() if not np.isfinite(values).all()]
        problems += [f"{name(record)}: {key}" for key in gaps if not key.startswith(UNDEFINED)]
        problems += [f"{name(record)}: {key}" for key, value in record.metrics.items() if not np.isfinite(value)]
    return problems


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables of one's own; in the singular one education and years of work and six make the age, exactly."""
    generator = np.random.default_rng(5)
    education, work = generator.integers(5, 20, 240), generator.integers(0, 40, 240)
    income = 1_000 * education + 300 * work + generator.normal(0, 3_000, 240)
    rows = zip(education, work, education + work + 6, np.where(generator.random(240) < 0.5, "f", "m"), income, strict=True)
    lines = ["education,work,age,sex,income", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "singular.csv").write_text("\n".join(lines))
    people = [f"{20 + 7 * row % 45},{1000 + 731 * row % 4000}" for row in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["age,wage", *people]))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("dataset", TABLES)
def test_every_cell_runs_or_is_pruned_with_a_sentence(dataset: str) -> None:
    planned = plan(grid_points([*GRID, *TABLES[dataset]]))
    kinds = registry().names("mechanism"), registry().names("model")
    per_model = sum(3 if build("mechanism", {"name": name}).uses_budget() else 1 for name in kinds[0])
    assert len(planned.cells) == per_model * len(kinds[1])
    for cell in planned.cells:
        if cell.state == "pruned":
            begin = f"{cell.params['mechanism']} does not fit {cell.params['model']}: "
            assert cell.reason.startswith(begin)
            assert cell.reason.endswith(".")
            assert len(cell.reason) > len(begin) + 10
    records = ran(planned)
    assert len(records) == len(planned.to_run) > 100
    assert {record.params["mechanism"] for record in records} == set(kinds[0])
    assert {record.params["model"] for record in records} == set(kinds[1])
    assert faults(records) == []
    for record in records:
        primary = "error_rate" if record.params["model"] == "logistic" else "rmse"
        assert record.metrics[f"utility/{primary}_median"] >= 0
        assert f"reference/no_privacy/{primary}_median" in record.metrics


@pytest.mark.parametrize("dataset", TABLES)
def test_without_a_sensitive_attribute_the_mechanisms_that_need_one_say_so(dataset: str) -> None:
    table = [override for override in TABLES[dataset] if not override.startswith("dataset.sensitive=")]
    planned = plan(grid_points([*GRID, *table, "dataset.sensitive=null"]))
    for cell in planned.cells:
        if cell.params["mechanism"] in NEEDS_SENSITIVE:
            assert cell.state == "pruned"
            assert "no sensitive attribute" in cell.reason or "the model provides no" in cell.reason


def test_every_cell_on_the_corner_runs_or_is_pruned_with_a_sentence() -> None:
    planned = plan(grid_points([*GRID, *TABLES["wine"], "dataset.scaling=corner", "model.intercept=false"]))
    reasons = {cell.params["mechanism"] for cell in planned.cells if cell.state == "pruned" and cell.params["model"] == "linear"}
    assert reasons == {"truncated", "dp_newton"}, "they serve models whose loss is not quadratic"
    records = ran(planned)
    assert len(records) == len(planned.to_run) > 100
    assert faults(records) == []


SWEPT = {
    "census": ("dataset.sample_n=3000",),
    "census variant=heads": ("dataset.variant=heads", "dataset.sample_n=3000"),
    "brazil": ("dataset.sample_n=3000",),
    "wine": (),
    "gaussian": ("dataset.n=1000",),
    "simulated": ("dataset.n=1000",),
    "designs": ("dataset.design=n2000_d5",),
    "adult": ("dataset.coding=numeric", "dataset.sample_n=3000"),
    "adult one-hot": ("dataset.sample_n=3000",),
    "table": ("dataset.path=people.csv", "dataset.target=wage", "dataset.bounds={age:[0,100],wage:[0,5000]}"),
}


@pytest.mark.parametrize("dataset", SWEPT)
def test_every_dataset_runs_the_first_sweep(dataset: str) -> None:
    grid = ("mechanism=fm,dpba", "epsilon=0.1,0.8,3.2", "splits.repeats=2")
    records = ran(plan(grid_points([*grid, f"dataset={dataset.split()[0]}", *SWEPT[dataset]])))
    assert len(records) == 6
    assert faults(records) == []
    assert {record.tags["dpbench.guarantee"] for record in records} == {"claimed"}
    synthetic = dataset.split()[0] in ("census", "brazil", "gaussian", "simulated", "designs")
    assert {record.tags["dpbench.synthetic"] for record in records} == {str(synthetic).lower()}
