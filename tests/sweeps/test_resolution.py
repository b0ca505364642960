"""A grid point becomes a cell."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.cells import code_versions
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.resolution import QUICK_REPEATS, ResolvedPoint, resolve, resolve_record


def test_params_name_the_components_and_what_the_sweep_varies() -> None:
    grid = ["dataset=wine", "mechanism=fm,no_privacy", "mechanism.ridge=2,4", "seed=1,2", "splits.repeats=3"]
    points = grid_points(grid)
    swept = ["mechanism", "mechanism.ridge", "seed"]
    params = [dict(resolve(point, swept).params) for point in points]
    assert params[0] == {
        "mechanism": "fm",
        "model": "linear",
        "dataset": "wine",
        "attack": "none",
        "epsilon": "1",
        "delta": "1e-06",
        "splits": params[0]["splits"],
        "mechanism.ridge": "2",
        "seed": "1",
    }
    assert all("mechanism.ridge" not in named for named in params if named["mechanism"] == "no_privacy")


def test_an_option_that_names_the_table_is_the_dataset_s_name_and_no_parameter() -> None:
    """Otherwise mechanisms on two tables would not be the same mechanism to a ranking."""
    points = grid_points(["dataset=open", "dataset.table=airfoil,concrete", "dataset.scaling=box,ball"])
    params = [resolve(point, ["dataset.table", "dataset.scaling"]).params for point in points]
    assert [(named["dataset"], named["dataset.scaling"]) for named in params] == [
        *(("airfoil", "box"), ("airfoil", "ball"), ("concrete", "box"), ("concrete", "ball")),
    ]
    assert not any("dataset.table" in named for named in params)


def test_versions_say_whose_code_and_which_data_a_cell_uses() -> None:
    (point,) = grid_points(["dataset=wine"])
    versions = resolve(point, []).cell.versions
    assert set(versions) == {"mechanism", "model", "dataset", "attack", "dpbench", "data", "metrics"}
    assert all(versions.values())


def test_the_code_of_a_mechanism_that_an_option_names_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(base: str) -> str:
        (point,) = grid_points(["mechanism=drop_sensitive", f"mechanism.base={base}", "dataset=adult"])
        return resolve(point, []).cell.versions["mechanism"]

    before, other = version("fm"), version("dpba")
    fm, digest = registry().get("mechanism", "fm"), code_versions.source_digest
    monkeypatch.setattr(code_versions, "source_digest", lambda cls: "edited" if cls is fm else digest(cls))
    assert version("fm") != before
    assert version("dpba") == other != before


def test_only_a_private_table_s_fingerprint_is_keyed(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("a,y\n1,2\n3,4\n")
    own = ["dataset=table", f"dataset.path={tmp_path}/people.csv", "dataset.target=y", "dataset.bounds={a:[0,9],y:[0,9]}"]
    keyed = []
    for digits in ("aa", "bb"):
        (tmp_path / digits).write_text(digits * 32)
        monkeypatch.setenv("DPBENCH_KEY_FILE", str(tmp_path / digits))
        (wine,), (private,) = grid_points(["dataset=wine"]), grid_points(own)
        assert resolve(wine, []).cell.versions["data"] == make("dataset", "wine").fingerprint()
        cell = resolve(private, []).cell
        assert hashlib.sha256((tmp_path / "people.csv").read_bytes()).hexdigest() not in str(cell)
        keyed.append((cell.versions["data"], cell.key))
    assert len({data for data, _ in keyed}) == len({key for _, key in keyed}) == 2


def test_a_quick_sweep_has_few_repeats() -> None:
    (quick,) = grid_points(["dataset=wine", "quick=true"])
    assert resolve(quick, []).cell.splits.repeats == QUICK_REPEATS
    (fewer,) = grid_points(["dataset=wine", "quick=true", "splits.repeats=1"])
    assert resolve(fewer, []).cell.splits.repeats == 1
    (wrong,) = grid_points(["dataset=wine", "quick=maybe"])
    with pytest.raises(Refused, match="'quick' must be true or false"):
        resolve(wrong, [])


def resolved(*overrides: str) -> list[ResolvedPoint]:
    points = grid_points(["dataset=wine", *overrides])
    return [resolve(point, list(dict.fromkeys(axis for point in points for axis in point.axes))) for point in points]


def test_a_cell_holds_the_rule_that_auto_stands_for() -> None:
    published, tight = resolved("mechanism=fm", "sensitivity=published,tight")
    assert published.cell.mechanism.options["sensitivity"] == "paper"
    assert tight.cell.mechanism.options["sensitivity"] == "tight"
    assert (published.sensitivity, tight.sensitivity) == ("published", "tight")
    assert published.components["mechanism"].sensitivity == "paper"
    (default,), (own,) = resolved("mechanism=fm"), resolved("mechanism=fm", "mechanism.sensitivity=tight")
    assert default.cell.key == tight.cell.key == own.cell.key != published.cell.key


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        (["mechanism=no_privacy"], ""),
        (["mechanism=dpme"], ""),
        (["mechanism=privr"], "tight"),
        (["mechanism=fm", "mechanism.sensitivity=paper"], "paper"),
        (["mechanism=fm", "mechanism.sensitivity=tight"], "tight"),
        (["mechanism=dpba", "mechanism.sensitivity=fang"], "fang"),
        (["mechanism=drop_sensitive", "mechanism.base=privr"], "tight"),
        (["mechanism=drop_sensitive", "mechanism.base=no_privacy"], ""),
    ],
)
def test_where_the_key_changes_nothing_both_of_its_values_are_one_cell(overrides: list[str], rule: str) -> None:
    tight, published = resolved(*overrides, "sensitivity=tight,published")
    assert tight.cell.key == published.cell.key
    assert tight.sensitivity == published.sensitivity == rule
    assert tight.params == published.params
    assert tight.params.get("mechanism.sensitivity", "") == rule


def test_a_swept_rule_is_a_variant_of_the_mechanism_whichever_key_varies_it() -> None:
    by_key = resolved("mechanism=dpba,no_privacy", "sensitivity=tight,published")
    assert [point.params.get("mechanism.sensitivity") for point in by_key] == ["tight", "published", None, None]
    assert all("sensitivity" not in point.params for point in by_key)
    both = resolved("mechanism=fm", "mechanism.sensitivity=auto,code", "sensitivity=tight,published")
    assert [point.params["mechanism.sensitivity"] for point in both] == ["tight", "published", "code", "code"]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(Refused, match=r"'sensitivity' option of the command must be one of 'tight', 'published'\. Got 'paper'"):
        resolved("sensitivity=paper")
    with pytest.raises(Refused, match=r"The 'sensitivity' option of fm must be one of .* Got 'published'"):
        resolved("mechanism=fm", "mechanism.sensitivity=published")


def test_resampled_rows_are_for_experiments_only() -> None:
    with pytest.raises(Refused, match=r"dataset\.resample=true a row may count several times.* Got 'secure' instead"):
        resolved("dataset.resample=true", "noise=secure")
    (point,) = resolved("dataset.resample=true")
    assert point.cell.dataset.options["resample"] is True


def test_a_mechanism_without_a_budget_has_one_cell_for_all_of_them() -> None:
    grid = ["dataset=wine", "epsilon=0.1,1", "delta=1e-6,1e-5", "budget=claimed,matched", "seed=0,1"]
    swept = ["epsilon", "delta", "budget", "seed"]
    cells = [resolve(point, swept) for point in grid_points(["mechanism=no_privacy", *grid])]
    assert len({resolved.cell.key for resolved in cells}) == 2, "one for each seed"
    assert len({resolved.cell.settings for resolved in cells}) == 2, "so that it does not matter which of them runs"
    assert {tuple(resolved.params) for resolved in cells} == {("mechanism", "model", "dataset", "attack", "splits", "seed")}
    assert len({resolve(point, swept).cell.key for point in grid_points(["mechanism=fm", *grid])}) == 16


def test_a_mechanism_with_a_base_asks_it() -> None:
    def keys(base: str) -> set[str]:
        grid = ["dataset=adult", "mechanism=drop_sensitive", f"mechanism.base={base}", "epsilon=0.1,1"]
        return {resolve(point, ["epsilon"]).cell.key for point in grid_points(grid)}

    assert (len(keys("no_privacy")), len(keys("fm"))) == (1, 2)


def test_a_recorded_cell_is_resolved_with_or_without_its_budget() -> None:
    for mechanism in ("no_privacy", "fm"):
        (point,) = grid_points(["dataset=wine", f"mechanism={mechanism}", "epsilon=0.3"])
        resolved = resolve(point, [])
        assert resolve_record(resolved.cell.record_config, resolved.params).cell.key == resolved.cell.key
