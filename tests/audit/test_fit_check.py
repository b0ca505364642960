"""A fit that was made is checked by its tape: sound ones pass, and what is not as it was declared is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from dpbench.audit.fit_check import check_answers, check_fit, claims_privacy
from dpbench.audit.neighbours import common_rows
from dpbench.audit.subject import example_geometry
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, laplace
from dpbench.privacy.queries.query import RowQuery
from dpbench.privacy.replay import Violation

RUNS = 3


@dataclass(frozen=True)
class Made:
    """A fit of a mechanism on made-up rows, with its tape."""

    mechanism: Any
    model: Any
    curator: Curator
    sample: WholeSample
    fit: Fit

    def check(self, **changed: Any) -> None:
        made = replace(self, **changed)
        check_fit(made.mechanism, made.model, made.curator, made.sample, made.fit, 1.0)


def made(make: Any, name: str, model: str = "linear", shape: tuple[Any, ...] = (2, 3), n: int = 60, **options: Any) -> Made:
    mechanism, component = make("mechanism", name, **options), make("model", model)
    geometry = example_geometry(component, *shape)
    if reason := mechanism.unsupported(component, geometry):
        pytest.skip(reason)
    sample = WholeSample(*(common_rows(geometry, n + run) for run in range(RUNS)))
    curator = Curator(sample, Draws(0, "test", [(run, 0) for run in range(RUNS)]), Budget(1.0, 1e-6, mechanism.counted()))
    curator.tape = []
    fit = fit_closed(mechanism, component.prepare(closed(curator)), curator, curator.ledger.budget)
    return Made(mechanism, component, curator, sample, fit)


def test_sound_mechanisms_pass(make, sound_case, cases) -> None:
    name, options = sound_case
    if not options.get("until_bounded"):  # may draw for very long on a small table
        made(make, name, cases.OWN_MODEL.get(name, "linear"), **options).check()


@pytest.mark.parametrize("model", ["logistic", "robust", "ridge"])
@pytest.mark.parametrize("name", ["fm", "privr", "dpme", "fp", "cdp_irls"])
def test_sound_mechanisms_pass_on_other_models(make, name, model) -> None:
    made(make, name, model).check()


def test_only_what_is_private_and_proven_claims_privacy(make) -> None:
    assert claims_privacy(made(make, "fm").curator.ledger)
    assert not claims_privacy(made(make, "no_privacy").curator.ledger)


def test_less_noise_than_the_bound_needs_is_found_in_what_was_drawn(make) -> None:
    fm = made(make, "fm")
    (answer,) = fm.curator.tape
    quiet = laplace(answer.noise.sensitivity / 4, 1.0, "wrong")
    fm.curator.tape[:] = [replace(answer, noise=quiet)]
    with pytest.raises(Violation, match="Neighbours can move the query 'objective' by more than its declared L1 sensitivity"):
        fm.check()


def test_a_histogram_needs_the_noise_of_two_counts(make) -> None:
    dpme = made(make, "dpme")
    (answer,) = dpme.curator.tape
    dpme.curator.tape[:] = [replace(answer, noise=laplace(1, 1.0, "a row is in one bin"))]
    with pytest.raises(Violation, match="by more than its declared L1 sensitivity"):
        dpme.check()


@pytest.mark.parametrize(
    "change",
    [
        lambda fit: replace(fit, weights=fit.weights + 1e-12),
        lambda fit: replace(fit, status=np.where(np.arange(RUNS) == 1, "diverged", fit.status)),
        lambda fit: replace(fit, health={**fit.health, "large": np.ones(RUNS, dtype=bool)}),
        lambda fit: replace(fit, notes={**fit.notes, "mean": 0.25}),
        lambda fit: replace(fit, notes={**fit.notes, "bins": 7.0}),
        lambda fit: fit.knowing("another reason"),
    ],
    ids=["weights", "status", "health", "a new note", "a note", "intervals"],
)
def test_a_result_that_does_not_follow_from_the_answers_is_found(make, change) -> None:
    dpme = made(make, "dpme")
    with pytest.raises(Violation, match="does not follow from the noisy answers"):
        dpme.check(fit=change(dpme.fit))


class Impure(RowQuery):
    """Contributions that depend on the other rows of the chunk."""

    name = "impure"
    size = 1

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        return rows.y[:, None] - rows.y.mean()


class Inliers(RowQuery):
    """The sum of the targets within 3 standard deviations of their mean, which strangers hardly move."""

    name = "inliers"
    size = 1

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        return (rows.y * (np.abs(rows.y - rows.y.mean()) <= 3 * rows.y.std()))[:, None]


class SmallNorms(RowQuery):
    """The sum of x y / (‖x‖² + 10⁻³), which is below 16 and not below 1."""

    name = "small norms"
    size = 11

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        features = rows.z[:, 1:-1]
        return features * rows.z[:, -1:] / (np.square(features).sum(axis=1, keepdims=True) + 1e-3)


class Fragile(RowQuery):
    """Contributions that fail on some rows."""

    name = "fragile"
    size = 1

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        if (rows.y == 1).any():
            raise ArithmeticError
        return rows.y[:, None]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (Impure(), "What a row contributes to the query 'impure' depends on other rows, or on what came before."),
        (Fragile(), "The query 'fragile' fails on some rows with ArithmeticError."),
    ],
)
def test_contributions_must_be_those_of_each_row_alone(make, query, sentence) -> None:
    fm = made(make, "fm")
    curator = Curator(fm.sample, Draws(0, "test", [(run, 0) for run in range(RUNS)]), Budget(1.0, 1e-6, "pure"))
    curator.tape = []
    curator.release(query, laplace(2.0, 1.0, "a target lies in [-1, 1]"))
    with pytest.raises(Violation) as violation:
        fm.check(curator=curator)
    assert str(violation.value) == sentence


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (Inliers(), "What a row contributes to the query 'inliers' depends on other rows, or on what came before."),
        (SmallNorms(), "Neighbours can move the query 'small norms' by more than its declared L1 sensitivity."),
    ],
)
def test_extreme_real_rows_and_small_ones_that_are_made_up_are_tried(make, curate, query, sentence) -> None:
    dataset, generator = make("dataset", "wine"), np.random.default_rng(0)
    sample = WholeSample(scale(dataset.load(generator), dataset.scaling, True, "real"))
    curator = curate(sample)
    curator.release(query, laplace(2.0 * query.size, 1.0, "all numbers lie in [-1, 1], it says"))
    with pytest.raises(Violation) as violation:
        check_answers(curator.tape, sample)
    assert str(violation.value) == sentence
