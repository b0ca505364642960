"""What a release is refused for before anything is fitted, and what it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.composition import compose
from dpbench.accounting.costs import Cost
from dpbench.base.errors import Refused
from dpbench.privacy import secure_noise
from dpbench.privacy.curator import Curator
from dpbench.privacy.noise import Draws
from dpbench.registry import imported_code
from dpbench.registry.lookup import build
from dpbench.releases import fit_release, release_data
from dpbench.releases.budget_book import BudgetBook, Payer, Reservation, entries_in
from dpbench.releases.release_file import Release
from dpbench.releases.released_intervals import NoIntervals, ReleasedIntervals
from dpbench.sweeps.hydra.composition import grid_points


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["dataset.sample_rate=0.5"], "dataset.sample_rate must be 1"),
        (["mechanism=fm", "model=robust"], "fm does not fit robust"),
    ],
)
def test_a_request_that_cannot_be_released_is_refused_before_the_fit(
    monkeypatch: pytest.MonkeyPatch, overrides: list[str], words: str
) -> None:
    pytest.importorskip("opendp")
    monkeypatch.setattr(fit_release, "fitted", pytest.fail)
    (point,) = grid_points(["dataset=wine", "epsilon=1", *overrides])
    with pytest.raises(Refused, match=words):
        fit_release.release(point.config)


def test_code_that_was_edited_since_it_was_imported_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    (point,) = grid_points(["dataset=wine", "epsilon=1"])
    monkeypatch.setattr(imported_code, "_digest", lambda file: "edited")
    with pytest.raises(Refused, match="was edited after this process imported it: restart the process"):
        fit_release.release(point.config, noise="simulation")


def test_a_mechanism_without_secure_noise_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    monkeypatch.setattr(fit_release, "replayed", lambda *_: {})
    (point,) = grid_points(["dataset=wine", "epsilon=1", "mechanism=adassp", "budget=matched"])
    with pytest.raises(Refused, match=r"^adassp cannot be released\. Not with secure noise: [^.]*\.$"):
        fit_release.release(point.config)


@pytest.mark.parametrize(
    ("overrides", "rule"),
    [
        ([], "tight"),
        (["sensitivity=published"], "paper"),
        (["mechanism.sensitivity=code"], "code"),
        (["mechanism.sensitivity=code", "sensitivity=published"], "code"),
    ],
)
def test_a_release_uses_the_tight_bounds_unless_it_is_asked_for_others(overrides: list[str], rule: str) -> None:
    pytest.importorskip("opendp")
    release = fit_release.release(grid_points(["mechanism=fm", "dataset=wine", "epsilon=1", *overrides])[0].config)
    assert release.mechanism["sensitivity"] == rule
    (entry,) = release.privacy["ledger"]["entries"]
    bounds = {"tight": 13**2, "paper": 2 * 13**2, "code": 2 * 12**2 + 4 * 12}  # 11 columns and an intercept
    assert entry["scale"] == pytest.approx(bounds[rule], rel=1e-6)


def simulated(monkeypatch: pytest.MonkeyPatch, seed: int, *overrides: str) -> Release:
    """Release with noise from a seed, which is quick, on a simulated table that the same seed draws."""
    draws = Draws(seed, "release", [(0, 0)])
    monkeypatch.setattr(fit_release, "SecureCurator", lambda sample, budget, _: Curator(sample, draws, budget))
    monkeypatch.setattr(fit_release, "replayed", lambda *_: {"n": 8})
    monkeypatch.setattr(release_data, "_table", lambda dataset, _: dataset.select(np.random.default_rng(seed)))
    return fit_release.release(grid_points(["dataset=simulated", "dataset.n=2000", *overrides])[0].config)


def test_intervals_cost_nothing_and_move_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    methods = ("none", "delta", "bootstrap")
    first, *others = [simulated(monkeypatch, 3, "mechanism=ssp", "epsilon=1", f"inference.method={name}") for name in methods]
    assert isinstance(first.inference, NoIntervals)
    for other in others:
        assert isinstance(other.inference, ReleasedIntervals)
        assert other.privacy == first.privacy
        assert other.weights == first.weights


def test_bootstraps_of_one_release_draw_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opendp")
    first, second = (simulated(monkeypatch, 3, "mechanism=ssp", "epsilon=1", "inference.method=bootstrap") for _ in range(2))
    assert first.weights == second.weights
    assert first.inference != second.inference


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 2])
def test_intervals_of_predictions_hold_as_many_future_rows_as_they_say(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    """The mean over 40 releases, each judged on 2,000 new rows; its standard error is .006 at ε = 1, and .003 at ε = 2."""
    pytest.importorskip("opendp")
    shares = []
    for seed in range(40):
        model = simulated(monkeypatch, seed, "mechanism=ssp", f"epsilon={epsilon}")
        table = build("dataset", {"name": "simulated", "n": 2000}).for_target("real").select(np.random.default_rng(1000 + seed))
        data = {column.name: table.features[:, index] for index, column in enumerate(table.columns)}
        _, low, high = model.predict(data, interval=0.95).T
        shares.append(((low <= table.response) & (table.response <= high)).mean())
    assert 0.93 <= np.mean(shares) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["fm", "ssp", "drop_sensitive"])
def test_a_streamed_table_is_released_as_a_loaded_one(mechanism: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """OpenDP is replaced by no noise at all, so that the released weights are those of the exact sums, on its grid."""
    pytest.importorskip("opendp")
    monkeypatch.setattr(secure_noise, "measure", lambda mechanism, size, scale: lambda steps: steps)
    generator = np.random.default_rng(0)
    x = generator.uniform(-0.2, 1.1, (30_000, 2)).round(3)
    lines = (f"{a},{b},{(a + b) / 2:.4f}\n" for a, b in x.tolist())
    (tmp_path / "it.csv").write_text("a,b,pay\n" + "".join(lines))
    table = ["dataset=table", f"dataset.path={tmp_path / 'it.csv'}", "dataset.target=pay", "dataset.sensitive=[b]"]
    keys = [*table, "dataset.bounds={a:[0,1],b:[0,1],pay:[0,1]}", f"mechanism={mechanism}", "epsilon=1"]
    keys += ["mechanism.base=fm"] if mechanism == "drop_sensitive" else []
    loaded, streamed = (
        fit_release.release(grid_points([*keys, f"dataset.stream={stream}"])[0].config) for stream in ("false", "true")
    )
    assert streamed.weights == loaded.weights
    assert streamed.privacy["rows"] == loaded.privacy["rows"] == 30_000
    assert streamed.columns == loaded.columns
    assert streamed.statement == loaded.statement


def test_a_mechanism_that_needs_rows_is_not_released_from_a_streamed_table(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    (tmp_path / "it.csv").write_text("a,pay\n" + "0.5,1\n0,0\n" * 20)
    table = ["dataset=table", f"dataset.path={tmp_path / 'it.csv'}", "dataset.target=pay", "dataset.bounds={a:[0,1],pay:[0,1]}"]
    (point,) = grid_points([*table, "dataset.stream=true", "mechanism=privr", "epsilon=1"])
    with pytest.raises(Refused, match=r"^privr needs the rows, not only sums of products of columns, and the table is streamed"):
        fit_release.release(point.config)


@pytest.mark.parametrize("stream", [False, True])
def test_the_table_that_was_read_is_charged_even_if_its_file_is_replaced_later(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stream: bool
) -> None:
    """A streamed table is read again for the fit, which is then refused."""
    pytest.importorskip("opendp")
    path = tmp_path / "it.csv"
    path.write_text("a,pay\n" + "0.5,1\n0,0\n" * 20)
    table = ["dataset=table", f"dataset.path={path}", "dataset.target=pay", "dataset.bounds={a:[0,1],pay:[0,1]}"]
    (point,) = grid_points([*table, f"dataset.stream={stream}".lower(), "mechanism=ssp", "epsilon=1", "budget=matched"])
    read = Payer.of(build("dataset", point.config["dataset"]))

    def replayed(*_: Any) -> dict[str, Any]:
        path.write_text("a,pay\n" + "1,1\n0,0.5\n" * 20)
        return {"n": 8}

    monkeypatch.setattr(fit_release, "replayed", replayed)
    book = BudgetBook(tmp_path / "book.jsonl")
    reservation = Reservation(book, "ssp", "m.json")
    if stream:
        with pytest.raises(Refused, match="was replaced while its rows were read"):
            fit_release.release(point.config, reserve=reservation)
    else:
        fit_release.release(point.config, reserve=reservation)
    (entry,) = entries_in(book.records())
    assert entry.table == read.digest


def test_simulated_noise_comes_from_the_seed_and_reserves_nothing() -> None:
    config = grid_points(["mechanism=fm", "dataset=wine", "epsilon=1", "seed=3"])[0].config
    first, second = (fit_release.release(config, "simulation", check_costs=pytest.fail) for _ in range(2))
    assert first == second
    assert first.statement.startswith("NO PRIVACY IS PROMISED")
    assert first.privacy["noise"] == "simulation"


def test_what_a_fit_will_cost_is_known_before_it_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a fit that is refused then draws nothing."""
    pytest.importorskip("opendp")
    config = grid_points(["mechanism=best", "dataset=wine", "epsilon=1", "budget=matched"])[0].config
    reserved: list[Cost] = []
    released = fit_release.release(config, check_costs=reserved.extend)
    entries = released.privacy["ledger"]["entries"]
    assert len(reserved) == len(entries)
    assert compose(reserved, 1e-6).epsilon == pytest.approx(1.0, rel=1e-9)
    assert (released.privacy["epsilon"], released.privacy["ledger"]["total"]["epsilon"]) == (1.0, 1.0), "not 1.0000000000000049"

    def refuse(costs: object) -> None:
        raise Refused("too much")

    monkeypatch.setattr(fit_release, "fitted", pytest.fail)
    with pytest.raises(Refused, match="too much"):
        fit_release.release(config, check_costs=refuse)
