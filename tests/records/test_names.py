"""Every name that any model, attack or mechanism records is declared, once and with a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas
import pytest

import dpbench
from dpbench.inference.metrics import INFOS
from dpbench.records import names
from dpbench.records.names import Name
from dpbench.records.sweep_record import SweepRecord
from dpbench.registry.lookup import registry
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import read_sweep

GROUPS = {key: value for key, value in vars(names).items() if key.isupper() and isinstance(value, tuple)}
SUFFIXES = tuple(name.text for name in names.declared("suffixes"))
SMALL = {
    "dataset": "wine",
    "dataset.attributes": ("alcohol", "density"),
    "dataset.sensitive": ("alcohol",),
    "dataset.sample_n": 200,
    "splits.repeats": 2,
    "splits.folds": 2,
    "engine": "serial",
}


def undeclared(texts: Iterable[str], declared: Iterable[Name | str]) -> list[str]:
    """The texts that are no declared name; a part of a name in angle brackets stands for any text."""
    patterns = [re.sub("<[^>]+>", "\0", str(name.text if isinstance(name, Name) else name)) for name in declared]
    allowed = re.compile("|".join(re.escape(pattern).replace("\0", ".+") for pattern in patterns))
    return sorted(text for text in set(texts) if not allowed.fullmatch(text))


def declared_metrics() -> list[str]:
    """Every metric of a cell: of models and attacks with each suffix, of a model also by its bare name, and the core's."""
    models = [registry().get("model", name) for name in registry().names("model")]
    scores = {metric.name for model in models for metric in registry().metrics_of(model)}
    attacks = [registry().get("attack", name) for name in registry().names("attack")]
    varying = [f"utility/{name}" for name in scores] + [f"utility/{names.EXCESS}{name}" for name in scores]
    varying += [f"{prefix}{name}" for prefix in names.REFERENCES for name in scores]
    varying += [info.name for info in INFOS]
    varying += [f"attack/{info.name}" for attack in attacks for info in attack.metrics]
    varying += [names.declared("control_utility")[0].text.replace("utility/<name>", f"utility/{name}") for name in scores]
    core = [name.text for name in names.declared("cell_metrics")]
    return [name + suffix for name in varying for suffix in SUFFIXES] + core + [f"utility/{model.primary}" for model in models]


def check_columns(columns: Iterable[str]) -> None:
    """Columns of a frame of cells: each is a tag, a metric, a parameter or a column that describes the record."""
    tags = [column for column in columns if column.startswith("dpbench.")]
    metrics = [column for column in columns if "/" in column]
    rest = [column for column in columns if column not in tags and column not in metrics]
    assert undeclared(tags, names.declared("cell_tags")) == []
    assert undeclared(metrics, declared_metrics()) == []
    assert undeclared(rest, [*names.declared("cell_parameters"), *names.declared("record_columns")]) == []


@pytest.fixture(scope="module")
def frame() -> pandas.DataFrame:
    """Every mechanism on every model."""
    grid = {"mechanism": list(registry().names("mechanism")), "model": list(registry().names("model"))}
    return dpbench.sweep({**SMALL, "splits.repeats": 1}, record=False, epsilon=5, **grid).full


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> SweepRecord:
    """Every attack on a model of each kind, audited, and read back from the store."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('names') / 'mlflow.db'}"
    grid = {"attack": list(registry().names("attack")), "model": ["robust", "logistic"], "mechanism": ["cdp_irls", "truncated"]}
    options = {**SMALL, "attack.targets": 50, "attack.fits": 8, "tracking.uri": uri, "audit.level": "replay"}
    dpbench.sweep(options, **grid)
    with open_store(uri, create=False) as store:
        return read_sweep(store)


@pytest.mark.slow
def test_every_mechanism_on_every_model_records_declared_names_alone(frame: pandas.DataFrame) -> None:
    done = frame[frame["state"] == "run"]
    assert set(done["mechanism"]) == set(registry().names("mechanism"))
    assert set(done["model"]) == set(registry().names("model"))
    assert {"utility/mae_median", "utility/error_rate_median", "utility/auc_median", "utility/log_loss_median"} <= set(frame)
    check_columns(frame.columns)


@pytest.mark.slow
def test_every_attack_records_declared_names_alone(sweep: SweepRecord) -> None:
    done = [cell for cell in sweep.cells if cell.done]
    assert {cell.params["attack"] for cell in done} == set(registry().names("attack"))
    for cell in done:
        check_columns(cell.as_columns())
        assert undeclared(cell.detail.runs, names.declared("run_columns")) == []
        curves = cell.detail.curves
        assert (
            undeclared(["curve", *(column for curve in curves.values() for column in curve)], names.declared("curve_columns"))
            == []
        )
        entries = [f"entries.{key}" for entry in cell.detail.ledger["entries"] for key in entry]
        assert undeclared([*cell.detail.ledger, *entries], names.declared("ledger_keys")) == []
    assert any("utility/roc" in cell.detail.curves for cell in done)


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_a_name_is_declared_once_and_has_a_meaning(group: str) -> None:
    texts = [name.text for name in GROUPS[group]]
    assert len(texts) == len(set(texts))
    assert all(name.meaning.strip() for name in GROUPS[group])


def test_the_check_tells_a_name_that_is_not_declared() -> None:
    assert undeclared(["utility/mse_median", "health/lost"], declared_metrics()) == []
    assert undeclared(["utility/mse", "utility/mse_mode", "mse"], declared_metrics()) == [
        "mse",
        "utility/mse",
        "utility/mse_mode",
    ]
    with pytest.raises(AssertionError):
        check_columns(["dpbench.mood"])


def test_names_that_code_repeats_are_the_declared_ones() -> None:
    from dpbench.cells import summaries
    from dpbench.records import cell_record

    assert tuple(f"_{suffix}" for suffix in summaries.SUFFIXES) == SUFFIXES
    assert tuple(name.text for name in names.declared("record_columns")) == cell_record.COLUMNS
