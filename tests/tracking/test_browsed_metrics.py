"""MLflow gets few metrics of a cell: those that people browse, the primary one first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from dpbench.cells.summaries import SUFFIXES
from dpbench.records.cell_record import CellRecord
from dpbench.tracking.browsed_metrics import MAX_METRICS, browsed_metrics

MakeRecord = Callable[..., CellRecord]


def everything(primary: str) -> dict[str, float]:
    """Return more metrics than MLflow gets."""
    groups = ("utility/", "utility/excess_", "reference/no_privacy/", "reference/mean_predictor/")
    scores = ("log_likelihood", "mse", "r2", "auc", primary, f"{primary}_raw")
    summarised = [f"{group}{score}_{suffix}" for group, score, suffix in product(groups, scores, SUFFIXES)]
    health = [f"health/{event}" for event in ("repaired", "diverged", "failed")]
    health += [f"health/event{number}" for number in range(10)]
    single = ["privacy/epsilon_accounted", "attack/advantage_mean", "attack/cap", "time/fit_seconds", "time/cell_seconds"]
    return dict.fromkeys([*sorted(summarised), *health, *single], 0.5)


def test_the_primary_metric_comes_first_and_no_more_than_thirty_are_kept(make_record: MakeRecord) -> None:
    for primary in ("rmse", "error_rate"):
        names = list(browsed_metrics(make_record(primary=primary, metrics=everything(primary))))
        assert names[:2] == [f"utility/{primary}_median", f"utility/{primary}_mean"]
        assert len(names) == MAX_METRICS
        assert {"privacy/epsilon_accounted", "attack/advantage_mean", "time/cell_seconds"} <= set(names)
        assert {f"reference/no_privacy/{primary}_median", f"utility/excess_{primary}_median", "utility/mse_median"} <= set(names)


def test_only_health_that_is_not_zero_is_shown(make_record: MakeRecord) -> None:
    metrics = {"health/repaired": 0.0, "health/diverged": 0.25, "utility/rmse_median": 0.0}
    assert browsed_metrics(make_record(metrics=metrics)) == {"utility/rmse_median": 0.0, "health/diverged": 0.25}


def test_every_value_is_the_records_own(make_record: MakeRecord) -> None:
    record = make_record(metrics={name: float(place) for place, name in enumerate(everything("rmse"))})
    assert browsed_metrics(record).items() <= record.metrics.items()
