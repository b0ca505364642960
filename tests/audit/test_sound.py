"""Every mechanism that keeps its word passes.

Replays are not random. The statistics fail a mechanism that keeps its word with probability at most 1e-4 over the seed of each
audit, whatever it looks at; the seeds are fixed.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

from dpbench.registry.lookup import registry

sys.path.insert(0, str(Path(__file__).parent))
from cases import CLAIMLESS, SOUND, rows_for

sys.path.pop(0)

QUICK = ("linear", "logistic", "robust")
"""Models on which every option is replayed; the others differ in what they make of the answers, so each mechanism is once."""

NAMES = [f"{name} {options or ''}" for name, options in SOUND]


def test_no_mechanism_of_ours_is_left_out() -> None:
    ours = {
        entry.name for entry in registry().entries if entry.kind == "mechanism" and entry.distribution == "dp-regression-bench"
    }
    assert ours == {name for name, _ in SOUND} | CLAIMLESS


@pytest.mark.parametrize(("name", "options"), SOUND, ids=NAMES)
def test_no_neighbours_move_an_answer_further_than_declared(name, options, make, audited) -> None:  # type: ignore[no-untyped-def]
    rows, alone = rows_for(options)
    mechanism = make("mechanism", name, **options)
    shapes = [(1, 0)] if alone else [(2, 3), (1, 0)]
    found = [
        audited(mechanism, model, (*shape, scaling), level="replay", rows=rows)
        for model, shape, scaling in product(QUICK, shapes, ("box", "ball"))
    ]
    tried = [one for one in found if one is not None]
    assert tried
    for one in tried:
        assert one.passed, one.violations
        assert 0 < one.replayed.ratio <= 1 + 1e-9


@pytest.mark.parametrize("model", ["ridge", "lasso", "elastic_net"])
def test_what_other_models_make_of_the_answers_is_the_answers_alone(model, make, audited) -> None:  # type: ignore[no-untyped-def]
    for name, options in dict(reversed(SOUND)).items():
        if name != "cdp_irls":
            found = audited(make("mechanism", name, **options), model, (2,), level="replay")
            assert found.passed, (name, found.violations)


@pytest.mark.parametrize(("name", "options"), SOUND, ids=NAMES)
def test_statistics_find_nothing_against_it(name, options, make, audited) -> None:  # type: ignore[no-untyped-def]
    rows, alone = rows_for(options)
    shape = (1,) if alone or name == "drop_sensitive" else (2, 3)
    shape = (2,) if name == "drop_sensitive" else shape
    found = audited(make("mechanism", name, **options), "linear", shape, rows=rows, runs=1_000, confidence=0.9999)
    assert found.passed, found.violations
    assert found.fits
    assert {one.what for one in found.certificates} > {"weights"}
    assert found.epsilon is not None


def test_a_tight_bound_is_met_at_the_worst_neighbours(make, audited) -> None:  # type: ignore[no-untyped-def]
    """Equality is what makes the replay a test: a bound a thousandth smaller would fail."""
    tight = {"sensitivity": "tight"}
    for name, options, model, shape in [
        ("fm", tight, "linear", (2, 3)),
        ("fm", tight, "logistic", (2,)),
        ("privr", {}, "linear", (2, 3)),
        ("dpme", {}, "linear", (2, 3)),
        ("fp", {}, "robust", (2, 3)),
        ("cdp_irls", {}, "linear", (2, 3)),
    ]:
        found = audited(make("mechanism", name, **options), model, shape, level="replay")
        assert found.replayed.ratio == pytest.approx(1.0, rel=1e-9), name
