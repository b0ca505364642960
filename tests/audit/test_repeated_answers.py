"""Repeating a call gives the law of its answer on either table, whichever method of the curator it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.costs import Nothing, Pure
from dpbench.audit import repeated_answers
from dpbench.audit.neighbours import common_rows, ones_to_zeros
from dpbench.audit.repeated_answers import repeat_answers
from dpbench.audit.replay_level import replay
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.data.bins import Binning
from dpbench.data.samples import WholeSample
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Geometric, Noise, laplace
from dpbench.privacy.queries.histogram import Histogram

RUNS = 2_000


class Asking(Mechanism):
    """Makes the calls of a test, and returns zeros."""

    name = "asking"

    def __init__(self, ask) -> None:
        self.ask = ask

    def fit(self, curator, problem, budget) -> Fit:
        self.ask(curator, problem.polynomial())
        return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))


@pytest.fixture
def repeated(make):
    """Repeat the calls of a test on the tables from ones to zeros."""

    def run(ask, runs: int = RUNS):
        model = make("model", "linear")
        geometry = example_geometry(model, 1)
        subject = AuditSubject(Asking(ask), model, Budget(100.0, 1e-6, "pure"), geometry, AuditSettings())
        (first,), (second,) = ones_to_zeros(geometry).tables(common_rows(geometry, 7))
        transcript, _ = replay(subject, WholeSample(first), WholeSample(second))
        return list(repeat_answers(transcript, subject, (first, second), runs))

    return run


def histogram(curator) -> Histogram:
    return Histogram(Binning(curator.geometry, 4))


COUNT_NOISE = Noise(Geometric(), np.array([0.5]), 4.0, "p")


def test_a_released_sum_is_repeated_with_its_noise_on_both_tables(repeated) -> None:
    (repeats,) = repeated(lambda curator, query: curator.release(query, laplace(query.l1_bound("tight"), 1.0, "p")))
    assert repeats.additive
    assert repeats.numbers.shape == (2, RUNS, repeats.answer.exact.shape[1])
    assert (repeats.exact[0] != repeats.exact[1]).any()
    draws = (repeats.numbers - repeats.exact[:, None]) / repeats.answer.noise.scale[0]
    assert stats.kstest(draws.ravel(), "laplace").pvalue > 1e-6
    assert len(np.unique(draws[:, :, 0])) == 2 * RUNS, "all runs on both tables have streams of their own"


def test_an_answer_that_is_drawn_until_accepted_is_repeated_under_its_condition(repeated) -> None:
    def ask(curator, query):
        curator.until(query, laplace(query.l1_bound("tight"), 1.0, "p"), lambda run, answer: (run, answer[0] > 5)[1])

    (repeats,) = repeated(ask)
    assert not repeats.additive
    assert (repeats.numbers[:, :, 0] > 5).all()
    assert repeats.numbers[:, :, 0].min() < 5.5, "the exact answer is near, so the least accepted one is"


def test_unproven_noise_is_repeated_with_its_sampler_and_its_exact_part_is_what_the_sum_contributes(repeated) -> None:
    def ask(curator, query):
        curator.unproven(query, lambda exact, generator: 2 * exact + generator.exponential(size=len(exact)), Pure(1.0), "a test")

    (repeats,) = repeated(ask)
    assert not repeats.additive
    draws = repeats.numbers - repeats.exact[:, None]
    assert draws.min() >= -1e-12
    assert stats.kstest(np.maximum(draws, 0).ravel(), "expon").pvalue > 1e-6


def test_a_scan_is_repeated_bin_by_bin_on_what_changed_and_on_a_few_others(repeated, monkeypatch) -> None:
    """The replaced row leaves one bin of 16 and enters another; with 5 unchanged bins of the first 5, at most 7 are compared."""
    monkeypatch.setattr(repeated_answers, "UNCHANGED_BINS", 5)
    (repeats,) = repeated(lambda curator, _: curator.scan(histogram(curator), COUNT_NOISE, 3))
    change = repeats.exact[1] - repeats.exact[0]
    assert sorted(change[:2]) == [-1.0, 1.0]
    assert not change[2:].any()
    assert 5 <= len(change) <= 7
    draws = repeats.numbers - repeats.exact[:, None]
    assert (draws == np.round(draws)).all()
    assert draws.var() == pytest.approx(2 * np.exp(-2) / (1 - np.exp(-2)) ** 2, rel=0.1), "the geometric law of scale 1/2"


def test_a_summary_is_repeated_with_zeros_where_a_bin_is_missing(repeated) -> None:
    (repeats,) = repeated(lambda curator, _: curator.sparse(histogram(curator), COUNT_NOISE, 1, 10))
    assert not repeats.additive
    assert sorted(repeats.exact[1] - repeats.exact[0]) == [-1.0, 1.0]
    assert (repeats.numbers == 0).any(axis=(0, 1)).all()
    assert (repeats.numbers > 0).any(axis=(0, 1)).all()


def test_large_histograms_are_scanned_in_fewer_runs_but_never_in_too_few(repeated, monkeypatch) -> None:
    def scan(curator, _):
        curator.scan(histogram(curator), COUNT_NOISE, 16)

    monkeypatch.setattr(repeated_answers, "MIN_SCANS", 20)
    for most, runs in ((16 * 50, 50), (16, 20), (10**6, 100)):
        monkeypatch.setattr(repeated_answers, "MAX_SCANNED_BINS", most)
        (repeats,) = repeated(scan, 100)
        assert repeats.numbers.shape[1] == runs
    (repeats,) = repeated(lambda curator, _: curator.sparse(histogram(curator), COUNT_NOISE, 1, 10), 100)
    assert repeats.numbers.shape[1] == 100


def test_calls_that_claim_nothing_are_not_repeated(repeated) -> None:
    def ask(curator, query):
        curator.unproven(query, lambda exact, generator: exact, Nothing(), "no claim")
        curator.release(query, laplace(query.l1_bound("tight"), 1.0, "p"))

    (repeats,) = repeated(ask, 10)
    assert repeats.answer.call.method == "release"


def test_forty_unchanged_bins_are_compared_and_scans_have_four_hundred_runs_at_least(repeated, monkeypatch) -> None:
    def scan(curator, _):
        curator.scan(Histogram(Binning(curator.geometry, 10)), COUNT_NOISE, 100)

    (repeats,) = repeated(scan, 10)
    assert 40 <= repeats.exact.shape[1] <= 42
    monkeypatch.setattr(repeated_answers, "MAX_SCANNED_BINS", 1)
    (repeats,) = repeated(scan, 500)
    assert repeats.numbers.shape[1] == 400
