"""What a release is refused for before anything is fitted, and how strong its promise is called."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.privacy.curator import Curator
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import build
from dpbench.releases import fit_release
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
    monkeypatch.setattr(fit_release, "_fitted", pytest.fail)
    (point,) = grid_points(["dataset=wine", "epsilon=1", *overrides])
    with pytest.raises(Refused, match=words):
        fit_release.release(point.config)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(0.5, "at most 1.65."), (1.0, "at most 2.72."), (1.1, "a weak promise"), (5.1, "promises next to nothing"), (800, "10^300")],
)
def test_the_statement_says_what_epsilon_means(epsilon: float, words: str) -> None:
    assert words in fit_release._strength(epsilon)
    assert math.isfinite(epsilon)


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
    monkeypatch.setattr(fit_release, "_replayed", lambda *_: {"n": 8})
    monkeypatch.setattr(fit_release, "_table", lambda dataset, _: dataset.select(np.random.default_rng(seed)))
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
