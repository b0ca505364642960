"""The Curator answers by the streams of its runs, and until accepted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpbench.privacy.noise import Laplace, Noise, gaussian, laplace


@pytest.fixture
def zeros(geometry, rows):
    return rows(geometry(1), np.zeros((3, 1)), np.zeros(3))


@pytest.fixture
def query(make, curate, zeros):
    return make("model", "linear", intercept=False).prepare(curate(zeros)).polynomial()


def test_a_run_s_noise_depends_on_neither_its_block_nor_the_order_of_the_runs(repeated, curate, zeros, query) -> None:
    runs = [(repeat, fold) for repeat in range(4) for fold in range(3)]
    noise = laplace(2.0, 1.0, "p")
    together = curate(repeated(zeros, 12), runs=runs).release(query, noise)
    alone = [curate(repeated(zeros, 1), runs=[run]).release(query, noise)[0] for run in reversed(runs)][::-1]
    np.testing.assert_array_equal(together, np.stack(alone))
    backwards = curate(repeated(zeros, 12), runs=runs[::-1]).release(query, noise)
    np.testing.assert_array_equal(together, backwards[::-1])


def test_scales_must_fit_the_runs_and_the_coefficients(repeated, curate, zeros, query) -> None:
    sample = repeated(zeros, 3)
    for shape in ((1, 1), (3, 1), (1, query.size), (3, query.size)):
        assert curate(sample).release(query, Noise(Laplace(), np.ones(shape), 1.0, "p")).shape == (3, query.size)
    for shape in ((2, 1), (1, query.size + 1)):
        curator = curate(sample)
        with pytest.raises(ValueError, match="must have scales of shape"):
            curator.release(query, Noise(Laplace(), np.ones(shape), 1.0, "p"))
        assert not curator.ledger.entries


def test_scales_by_run_and_by_coefficient_reach_the_noise(repeated, curate, zeros, query) -> None:
    sample = repeated(zeros, 3)
    plain = curate(sample).release(query, Noise(Laplace(), np.ones((1, 1)), 1.0, "p"))
    scale = np.arange(1.0, 3 * query.size + 1).reshape(3, query.size)
    np.testing.assert_allclose(curate(sample).release(query, Noise(Laplace(), scale, 1.0, "p")), plain * scale, rtol=1e-15)


def test_the_first_try_is_the_release_and_later_ones_are_new(repeated, curate, zeros, query) -> None:
    noise = laplace(2.0, 1.0, "p")
    released = curate(repeated(zeros, 5), 2.0).release(query, noise)
    first, accepted = curate(repeated(zeros, 5), 2.0).until(query, noise, lambda run, answer: True)
    np.testing.assert_array_equal(first, released)
    assert accepted.all()
    seen = []
    curate(repeated(zeros, 5), 2.0).until(query, noise, lambda run, answer: bool(seen.append(answer[0]) or len(seen) % 4 == 0))
    assert len(set(seen)) == len(seen) == 20


def test_accepted_answers_have_the_conditional_law(repeated, curate, zeros, query) -> None:
    """Accepted above 1: Laplace noise given that is 1 + Exp(1); Kolmogorov-Smirnov on 5,000 runs. False alarm 1e-6."""
    curator = curate(repeated(zeros, 5_000), 2.0)
    answers, accepted = curator.until(query, laplace(1.0, 1.0, "p"), lambda run, answer: answer[0] > 1)
    assert accepted.all()
    assert stats.kstest(answers[:, 0] - 1, stats.expon.cdf).pvalue > 5e-7
    assert stats.kstest(answers[:, 1], stats.laplace.cdf).pvalue > 5e-7


def test_a_capped_loop_says_which_runs_were_not_accepted(repeated, curate, zeros, query) -> None:
    tries = [0] * 3

    def accept(run: int, answer: np.ndarray) -> bool:
        tries[run] += 1
        return run == 1

    _, accepted = curate(repeated(zeros, 3), 2.0).until(query, laplace(1.0, 1.0, "p"), accept, max_tries=7)
    assert accepted.tolist() == [False, True, False]
    assert tries == [7, 1, 7]


def test_drawing_until_accepted_is_for_pure_noise_only(curate, zeros, query) -> None:
    curator = curate(zeros, currency="approx")
    with pytest.raises(ValueError, match="pure"):
        curator.until(query, gaussian(1.0, 0.1, "p"), lambda run, answer: True)
    assert not curator.ledger.entries


def test_a_call_after_those_of_single_runs_has_noise_of_its_own(repeated, curate, zeros, query) -> None:
    """Also after some runs asked more often than others."""
    curator, noise = curate(repeated(zeros, 2), 9.0), laplace(1.0, 1.0, "p")
    singles = [curator.for_run(run) for run in range(2)]
    drawn = [single.release(query, noise)[0] for single in (singles[0], singles[1], singles[1])]
    later = curator.release(query, noise)
    assert not {*map(tuple, later)} & {*map(tuple, drawn)}
    assert [answer.run for answer in curator.tape] == [0, 1, 1, None]


def test_fewer_columns_share_the_ledger_the_tape_and_the_numbering_of_calls(geometry, rows, curate, make) -> None:
    curator = curate(rows(geometry(2), np.zeros((3, 2)), np.zeros(3)), 2.0)
    narrow = curator.without(["x1"])
    query = make("model", "linear", intercept=False).prepare(narrow).polynomial()
    first, second = (narrow.release(query, laplace(1.0, 1.0, "p")) for _ in range(2))
    assert (first != second).all()
    assert len(curator.tape) == len(curator.ledger.entries) == 2
    assert curator.geometry.columns == ("x0", "x1"), "the curator itself still has all columns"
