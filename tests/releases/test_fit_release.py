"""What a release is refused for before anything is fitted, and how strong its promise is called."""

from __future__ import annotations

import math

import pytest

from dpbench.base.errors import Refused
from dpbench.releases import fit_release
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
