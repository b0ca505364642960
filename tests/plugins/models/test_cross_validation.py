"""penalty=cv: λ is chosen as in the paper, run by run, and every record says that it leaked."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws

MODELS = ["ridge", "lasso", "elastic_net"]
PENALTIES = 10.0 ** np.arange(-6, 0.1, 0.5)


@pytest.fixture
def drawn(table: Callable[..., Any]) -> Callable[..., Rows]:
    def built(n: int, d: int, signal: float, intercept: bool = True, scaling: Any = "box") -> Rows:
        generator = np.random.default_rng(n)
        x = generator.uniform(-0.2, 1, (n, d))
        y = np.clip(0.2 + signal * x[:, 0] + 0.2 * generator.normal(size=n), -1, 1)
        return scale(table(x, y), scaling, intercept, "real")

    return built


def curator_of(sample: Sample, runs: list[tuple[int, int]]) -> Curator:
    return Curator(sample, Draws(0, "t", runs), Budget(1.0, 1e-6, "pure"))


@pytest.mark.parametrize("name", MODELS)
def test_the_choice_is_a_named_leak_that_costs_no_epsilon(name, drawn, make, curate) -> None:
    rows = drawn(60, 4, 0.3)
    curator = curate(rows)
    problem = make("model", name, penalty="cv").prepare(curator)
    assert [leak.what for leak in curator.ledger.leaks] == ["penalty_by_cv"]
    assert not curator.ledger.entries
    assert np.isclose(problem.penalty[:, None], PENALTIES).any(axis=1).all()
    np.testing.assert_array_equal(problem.chosen_penalty, problem.penalty)
    fixed = curate(rows)
    assert make("model", name, penalty=0.1).prepare(fixed).chosen_penalty is None
    assert not fixed.ledger.leaks


@pytest.mark.parametrize("name", MODELS)
def test_a_penalty_on_the_sum_is_n_times_as_small_on_the_mean(name, drawn, make, curate) -> None:
    rows = drawn(60, 4, 0.3)
    on_sum = make("model", name, penalty=3.0, penalty_on="sum").prepare(curate(rows))
    on_mean = make("model", name, penalty=3.0 / 60).prepare(curate(rows))
    np.testing.assert_allclose(on_sum.exact(WholeSample(rows)).weights, on_mean.exact(WholeSample(rows)).weights, rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_on_the_sum_the_choice_is_among_values_for_the_sum_and_keeps_its_unit(name, drawn, make, curate) -> None:
    """A penalty on the sum means less for all rows than for the rows of four folds; it is not rescaled between them."""
    rows = drawn(60, 12, 0.3)
    order, starts = stream("cross-validation", 60).permutation(60), np.linspace(0, 60, 6).astype(int)
    values = 10.0 ** np.arange(-3, 3.1, 0.5)
    errors = np.zeros(len(values))
    for start, stop in pairwise(starts):
        test, train = rows.take(order[start:stop]), rows.take(np.delete(order, np.s_[start:stop]))
        for index, value in enumerate(values):
            problem = make("model", name, penalty=float(value), penalty_on="sum").prepare(curate(train))
            errors[index] += ((test.y - test.x @ problem.exact(WholeSample(train)).weights[0]) ** 2).sum()
    problem = make("model", name, penalty="cv", penalty_on="sum").prepare(curate(rows))
    np.testing.assert_allclose(problem.chosen_penalty, values[np.argmin(errors)])
    np.testing.assert_allclose(problem.penalty, values[np.argmin(errors)] / 60)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("n", "intercept", "scaling"),
    [(50, True, "box"), (57, True, "box"), (65, True, "box"), (53, False, "box"), (52, True, "ball")],
)
def test_the_choice_is_that_of_the_model_s_own_fits_on_five_folds(name, n, intercept, scaling, drawn, make, curate) -> None:
    rows = drawn(n, 12, 0.3, intercept, scaling)
    order, starts = stream("cross-validation", n).permutation(n), np.linspace(0, n, 6).astype(int)
    errors = []
    for penalty in PENALTIES:
        total = 0.0
        for start, stop in pairwise(starts):
            test, train = rows.take(order[start:stop]), rows.take(np.delete(order, np.s_[start:stop]))
            problem = make("model", name, penalty=float(penalty), intercept=intercept).prepare(curate(train))
            total += ((test.y - test.x @ problem.exact(WholeSample(train)).weights[0]) ** 2).sum()
        errors.append(total)
    chosen = make("model", name, penalty="cv", intercept=intercept).prepare(curate(rows)).penalty
    assert 0 < np.argmin(errors) < len(PENALTIES) - 1, "the test sees nothing at the ends of the range"
    np.testing.assert_allclose(chosen, PENALTIES[np.argmin(errors)])


@pytest.mark.parametrize("name", ["lasso", "elastic_net"])
def test_with_a_cone_solver_the_choice_is_made_by_approximate_fits_and_predicts_as_well(name, drawn, make, split) -> None:
    """Where two λ predict alike it may be the other one, but each is the choice of the run alone."""
    train = split(drawn(300, 12, 0.3), (0, 1)).train
    runs = [(repeat, fold) for repeat in (0, 1) for fold in range(3)]
    exact, approximate = (
        make("model", name, penalty="cv", solver=solver).prepare(curator_of(train, runs)).penalty for solver in ("auto", "scs")
    )
    assert np.abs(np.log10(exact / approximate)).max() < 0.51
    for run in range(6):
        alone = make("model", name, penalty="cv", solver="scs").prepare(curator_of(train.for_run(run), runs[run : run + 1]))
        np.testing.assert_array_equal(alone.penalty, approximate[run : run + 1])


@pytest.mark.parametrize("name", MODELS)
def test_noise_wants_a_large_penalty_and_a_strong_signal_a_small_one(name, drawn, make, curate) -> None:
    noise, signal = (
        make("model", name, penalty="cv").prepare(curate(rows)).penalty[0] for rows in (drawn(40, 15, 0.0), drawn(2000, 3, 0.7))
    )
    assert noise >= 0.03
    assert signal <= noise / 10


@pytest.mark.parametrize("name", ["ridge", "lasso"])
def test_it_does_not_depend_on_how_repeats_are_cut_into_blocks(name, drawn, make, split) -> None:
    rows = drawn(61, 10, 0.1)

    def prepared(repeats: tuple[int, ...]) -> Any:
        block = split(rows, repeats)
        problem = make("model", name, penalty="cv").prepare(curator_of(block.train, block.runs))
        return problem.penalty, problem.exact(block.train).weights

    penalty, weights = prepared((0, 1, 2))
    assert len(set(penalty.tolist())) > 1, "one λ for all runs would hide the error"
    for repeat in range(3):
        alone = prepared((repeat,))
        np.testing.assert_array_equal(penalty[3 * repeat : 3 * repeat + 3], alone[0])
        np.testing.assert_array_equal(weights[3 * repeat : 3 * repeat + 3], alone[1])


@pytest.mark.parametrize("name", MODELS)
def test_a_single_run_keeps_its_own_penalty(name, drawn, make, split) -> None:
    rows = drawn(61, 10, 0.1)
    block = split(rows, range(3))
    problem = make("model", name, penalty="cv").prepare(curator_of(block.train, block.runs))
    for run in (0, 5, 8):
        single = problem.for_run(run)
        np.testing.assert_array_equal(single.penalty, problem.penalty[run : run + 1])
        np.testing.assert_array_equal(
            single.exact(block.train.for_run(run)).weights, problem.exact(block.train).weights[run : run + 1]
        )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_handful_of_rows_is_enough(name, n, drawn, make, curate) -> None:
    rows = drawn(9, 3, 0.3).take(np.arange(n))
    problem = make("model", name, penalty="cv").prepare(curate(rows))
    assert np.isfinite(problem.exact(WholeSample(rows)).weights).all()


def test_a_column_without_values_is_no_obstacle(drawn, make, curate) -> None:
    for intercept in (True, False):
        rows = drawn(30, 3, 0.3, intercept)
        z = rows.z.copy()
        z[:, 2] = 0
        for name in MODELS:
            problem = make("model", name, penalty="cv", intercept=intercept).prepare(curate(Rows(z, rows.geometry)))
            assert np.isfinite(problem.penalty).all()
