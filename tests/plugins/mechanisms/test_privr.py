"""PrivR-style: the relevance of each feature, the scales made of it, and the space in which the answer is solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbench.base.errors import Refused
from dpbench.data.blocks import Block
from dpbench.data.scaling import scale
from dpbench.privacy.calls import Answer
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import contributions

FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Transcript:
    fit: Any
    first: Answer
    """The answer that gives the first weights."""
    relevance: Answer
    last: Answer
    curator: Curator
    problem: Any
    queries: list[Any]


@pytest.fixture
def transcript_of(make):
    """Fits privr to a sample, and returns the fit with its three answers."""

    def of(
        sample: Any, runs: Any = None, model: str = "linear", epsilon: float = 1.0, seed: int = 0, **options: Any
    ) -> Transcript:
        budget = Budget(epsilon, 1e-6, "pure")
        curator = Curator(sample, Draws(seed, "test", runs or [(run, 0) for run in range(sample.runs)]), budget)
        curator.tape = []
        problem = make("model", model, intercept=curator.geometry.intercept).prepare(curator)
        queries: list[Any] = []
        release = curator.release
        curator.release = lambda query, noise: (queries.append(query), release(query, noise))[1]
        fit = make("mechanism", "privr", **options).fit(curator, problem, budget)
        assert [answer.query for answer in curator.tape] == ["relevance objective", "relevance", "objective"]
        return Transcript(fit, *curator.tape, curator, problem, queries)

    return of


@pytest.fixture
def block(table, split) -> Block:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (900, 4))
    return split(scale(table(x, np.tanh(2 * x[:, 0] - x[:, 2]), threshold=0.0), "box", True, "real"), range(4))


@pytest.fixture
def zeros(geometry, rows, repeated):
    """Many runs of rows that are all zero: two columns, whose relevance is nothing but noise."""
    return repeated(rows(geometry(2), np.zeros((40, 2)), np.zeros(40)), 3_000)


def test_the_budget_is_spent_on_three_answers(block, transcript_of) -> None:
    """0.9 ρε, 0.1 ρε, (1 - ρ)ε."""
    for rho, epsilon in ((0.3, 1.0), (0.2, 7.0), (0.77, 0.013)):
        transcript = transcript_of(block.train, block.runs, epsilon=epsilon, rho=rho)
        costs = [entry.cost.epsilon for entry in transcript.curator.ledger.entries]
        assert costs == [pytest.approx(share * epsilon) for share in (0.9 * rho, 0.1 * rho, 1 - rho)]
        assert transcript.curator.ledger.total.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert transcript.curator.ledger.sound


def test_the_first_weights_are_tight_fm_s_and_each_run_s_rows_are_weighted_by_them(block, transcript_of, make) -> None:
    """R_j of run r: mean over its rows of |x_j w_j| / Σ|x_k w_k|, the intercept among them."""
    transcript = transcript_of(block.train, block.runs, epsilon=3.0)
    noisy = transcript.problem.polynomial().quadratic(transcript.first.noisy, block.train.n)
    b = 36 / (0.9 * 0.3 * 3.0)
    assert transcript.first.noise.scale == pytest.approx(b)
    weights = noisy.ridged(4 * 2**0.5 * b).trimmed().minimiser()
    for run in range(block.train.runs):
        x = block.train.rows(run).x
        scores = np.abs(x * weights[run])
        np.testing.assert_allclose(
            transcript.relevance.exact[run], (scores / scores.sum(axis=1, keepdims=True)).sum(axis=0), rtol=1e-7
        )
        assert transcript.relevance.exact[run].sum() == pytest.approx(len(x))
    assert transcript.relevance.noise.scale == pytest.approx(2 / (0.1 * 0.3 * 3.0))


def test_the_two_objectives_have_streams_of_their_own(block, transcript_of) -> None:
    transcript = transcript_of(block.train, block.runs)
    first = (transcript.first.noisy - transcript.first.exact) / transcript.first.noise.scale
    last = (transcript.last.noisy - transcript.last.exact) / transcript.last.noise.scale
    assert last.shape[1] == first.shape[1] + 1, "the second one ends with y'y"
    assert (np.abs(first - last[:, :-1]) > 1e-9).all()


@pytest.mark.parametrize(("rule", "floor"), [("proportional", 0.1), ("proportional", 0.9), ("threshold", 0.1)])
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_scales_follow_relevance_by_the_rescaled_bound(rule, floor, model, transcript_of, table, split) -> None:
    """β by hand from the noisy relevance; b = (Σq + 1)²/((1 - ρ)ε), logistic (Σq + 2)²/8; b/(q_j q_k) and b/q_j, run by run."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (900, 4))
    target = "binary" if model == "logistic" else "real"
    block = split(scale(table(x, np.tanh(2 * x[:, 0] - x[:, 2]), threshold=0.0), "box", True, target), range(4))
    transcript = transcript_of(block.train, block.runs, model=model, epsilon=20.0, rule=rule, floor=floor)
    j, k = transcript.problem.polynomial().pairs
    scales = []
    for run, noisy in enumerate(transcript.relevance.noisy):
        relevance = np.maximum(noisy / block.train.n[run], 0)
        if rule == "threshold":
            beta = np.where(relevance >= 1 / 5, 4.0, 1.0)
        else:
            beta = np.maximum(5 * relevance / relevance.sum(), floor)
        q = np.sqrt(beta / beta.mean())
        total = q.sum()
        b = ((total + 1) ** 2 if model == "linear" else (total + 2) ** 2 / 8) / (0.7 * 20.0)
        square = [b] if model == "linear" else []
        scales.append(np.concatenate([b / (q[j] * q[k]), b / q, square]))
    np.testing.assert_allclose(transcript.last.noise.scale, scales, rtol=1e-9)
    assert np.ptp(scales, axis=1).min() > 0
    assert rule == "threshold" or np.ptp(scales, axis=0).min() > 0, "the test needs runs of different relevance"


def test_relevant_features_get_less_noise(block, transcript_of) -> None:
    """y depends on columns 1 and 3 of the design: their linear coefficients, against those of 2 and 4."""
    linear = transcript_of(block.train, block.runs, epsilon=100.0).last.noise.scale[:, -6:-1]
    assert (linear[:, [1, 3]].max(axis=1) < linear[:, [2, 4]].min(axis=1)).all()


def test_each_run_s_noise_has_its_own_scales(zeros, transcript_of) -> None:
    """2 Σ|x| / b over runs is exactly χ²(2 runs), coefficient by coefficient, in all three answers. False alarm 1e-6."""
    transcript = transcript_of(zeros)
    answers = (transcript.first, transcript.relevance, transcript.last)
    assert np.ptp(transcript.last.noise.scale, axis=0).min() > 0
    for answer in answers:
        total = 2 * (np.abs(answer.noisy - answer.exact) / answer.noise.scale).sum(axis=0)
        tail = 2 * np.minimum(stats.chi2.cdf(total, 2 * zeros.runs), stats.chi2.sf(total, 2 * zeros.runs))
        assert tail.min() > FALSE_ALARM / sum(a.noisy.shape[1] for a in answers)


@pytest.mark.parametrize("rule", ["proportional", "threshold"])
def test_with_equal_relevance_it_is_tight_fm(rule, zeros, transcript_of, make) -> None:
    """Runs in which noise left no relevance at all, or (threshold) none or both above one half: fm at (1 - ρ)ε, to rounding."""
    transcript = transcript_of(zeros, rule=rule)
    relevance = transcript.relevance.noisy / 40
    equal = (relevance <= 0).all(axis=1)
    if rule == "threshold":
        equal = (relevance >= 0.5).all(axis=1) | (relevance < 0.5).all(axis=1)
    assert 0.1 < equal.mean() < 0.9, "the test needs both kinds of runs"
    budget = Budget(0.7, 1e-6, "pure")
    curator = Curator(zeros, Draws(0, "test", [(run, 0) for run in range(zeros.runs)]), budget)
    fm = make("mechanism", "fm", sensitivity="tight").fit(curator, transcript.problem, budget)
    np.testing.assert_allclose(transcript.fit.weights[equal], fm.weights[equal], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(transcript.fit.status[equal], fm.status[equal])
    assert (np.abs(transcript.fit.weights[~equal] - fm.weights[~equal]) > 1e-9).any(axis=1).all()


def test_a_row_without_scores_adds_nothing(transcript_of, geometry, rows, repeated) -> None:
    x = np.zeros((40, 2))
    x[:10] = [1, 0]
    transcript = transcript_of(repeated(rows(geometry(2), x, np.zeros(40)), 2))
    np.testing.assert_allclose(transcript.relevance.exact, [[10, 0], [10, 0]])


def test_replacing_a_row_moves_the_relevance_by_two_at_most_and_attains_it(
    transcript_of, geometry, rows, repeated, adversary_rows
) -> None:
    """(1, 0, 0) against (0, 1, 0) moves the sum by 2, the declared sensitivity; no pair of rows by more."""
    g = geometry(3)
    transcript = transcript_of(repeated(rows(g, np.ones((4, 3)), np.ones(4)), 1))
    assert transcript.relevance.noise.scale[0, 0] * transcript.relevance.noise.bound == pytest.approx(2.0)
    query = transcript.queries[1]
    assert (query.state != 0).all()

    def moved(first: Any, second: Any) -> np.ndarray:
        both = [contributions(query, rows(g, x, np.zeros(len(x))), 0) for x in (first, second)]
        return np.asarray(np.abs(both[0] - both[1]).sum(axis=1))

    assert moved(*adversary_rows).max() <= 2 + 1e-12
    assert moved([[1, 0, 0]], [[0, 1, 0]]) == 2


@pytest.fixture
def adversary_rows() -> np.ndarray:
    return np.random.default_rng(0).choice([-1, 0, 0, 1, 0.3], (2, 5_000, 3))


def test_ridge_and_trimming_act_on_the_rescaled_weights(block, transcript_of) -> None:
    """w_j = q_j u_j, with 4 sqrt(2) b on u's diagonal; minimisers where nothing was trimmed."""
    transcript = transcript_of(block.train, block.runs, epsilon=12.0)
    query = transcript.problem.polynomial()
    scale = transcript.last.noise.scale[:, :-1]
    j, k = query.pairs
    diagonal = scale[:, [int(np.flatnonzero((j == c) & (k == c))[0]) for c in range(1, 5)]]
    b = scale[:, -4:] ** 2 / diagonal  # (b/q)² / (b/q²)
    assert np.ptp(b, axis=1).max() < 1e-9 * b.max()
    q = np.column_stack([b[:, 0] / scale[:, -5 + c] for c in range(5)])
    noisy = query.quadratic(transcript.last.noisy, block.train.n)
    inner = Quadratic(noisy.matrix * q[:, :, None] * q[:, None, :], noisy.linear * q).ridged(4 * 2**0.5 * b[:, 0])
    clean = inner.positive_definite
    assert clean.mean() > 0.5
    expected = q * -0.5 * np.linalg.solve(inner.matrix, inner.linear[..., None])[..., 0]
    np.testing.assert_allclose(transcript.fit.weights[clean], expected[clean], rtol=1e-6)
    np.testing.assert_array_equal(transcript.fit.status == "repaired", ~clean)


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "elastic_net", "logistic"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_as_epsilon_grows_it_approaches_the_fit_without_noise(model, scaling, make, curate, table) -> None:
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (400, 3)), np.eye(3)[generator.integers(3, size=400)]])
    target = "binary" if model == "logistic" else "real"
    rows = scale(table(x, np.tanh(x @ np.arange(6.0)), (3,), threshold=2.0), scaling, True, target)
    limit = make("mechanism", "truncated" if model == "logistic" else "no_privacy")
    weights = []
    for mechanism in (limit, *(make("mechanism", "privr", repair=repair) for repair in ("trim", "floor", "none"))):
        curator = curate(rows, epsilon=1e14)
        weights.append(mechanism.fit(curator, make("model", model).prepare(curator), curator.ledger.budget).weights[0])
    for vector in weights[1:]:
        np.testing.assert_allclose(rows.x @ vector, rows.x @ weights[0], rtol=0, atol=1e-6)


def test_the_same_seed_gives_the_same_bits_in_any_block(block, transcript_of) -> None:
    """A run does not depend on the other runs of its block, although its relevance is computed from its own rows."""
    whole = transcript_of(block.train, block.runs)
    again = transcript_of(block.train, block.runs)
    np.testing.assert_array_equal(whole.fit.weights, again.fit.weights)
    other = transcript_of(block.train, block.runs, seed=1)
    assert (whole.fit.weights != other.fit.weights).all()
    for run in (0, 5):
        alone = transcript_of(block.train.for_run(run), block.runs[run : run + 1])
        np.testing.assert_array_equal(alone.fit.weights[0], whole.fit.weights[run])


@pytest.mark.parametrize("options", [{"rho": 0.0}, {"rho": 1.0}, {"rule": "equal"}, {"floor": 0.0}])
def test_options_outside_their_range_are_refused(options, make) -> None:
    with pytest.raises(Refused, match=f"The '{next(iter(options))}' option of privr must be"):
        make("mechanism", "privr", **options)
