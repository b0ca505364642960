"""The checks without statistics catch faults that declare nothing wrong, and let built-in mechanisms pass."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.audit.deterministic_checks import check_fits, check_noise, check_sums, fit_batch
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.base.random_streams import stream
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Laplace, Noise, laplace
from dpbench.privacy.queries.query import CellQuery, Layer, MomentQuery, RowQuery
from dpbench.privacy.replay import Violation


@dataclass(frozen=True)
class Plain(Mechanism):
    """The functional mechanism, until a subclass changes what it makes of the answers."""

    name: ClassVar[str] = "plain"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        answer = curator.release(query, laplace(query.l1_bound("tight"), budget.epsilon, "tight"))
        return self.fitted(query, answer, curator)

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())


class FoldAverage(Plain):
    """Averages the answers of all folds: each row is in most of them, so the noise shrinks and the price does not grow."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        return super().fitted(query, np.broadcast_to(answer.mean(axis=0), answer.shape), curator)


class SlightShare(Plain):
    """Adds to the answers of every run a thousandth of the next run's."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        return super().fitted(query, answer + 1e-3 * np.roll(answer, 1, axis=0), curator)


class HealthOfAllRuns(Plain):
    """Its weights are those of each run, one health event is not."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        return replace(super().fitted(query, answer, curator), health={"small": answer[:, 0] < answer[:, 0].max()})


class GlobalDice(Plain):
    """Draws from the generators that a process shares."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        random.random()
        return super().fitted(query, answer, curator)


class KnownSeed(Plain):
    """Draws the simulator's noise again, and subtracts it."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        runs = [(run // 2, run % 2) for run in range(curator.runs)]
        drawn = [stream(3, "a table", "noise", repeat, fold, "objective", 0).laplace(size=query.size) for repeat, fold in runs]
        scale = query.l1_bound("tight") / self.known_epsilon(answer)
        return super().fitted(query, answer - scale * np.stack(drawn), curator)

    def known_epsilon(self, answer: np.ndarray) -> float:
        return 1e9 if np.abs(answer).max() < 20 else 1.0


class RefusingKnownSeed(KnownSeed):
    """Subtracts the simulator's noise, and refuses an ε above 50."""

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        if budget.epsilon > 50:
            raise ValueError("a larger epsilon protects nothing")
        object.__setattr__(self, "epsilon", budget.epsilon)
        return super().fit(curator, problem, budget)

    def known_epsilon(self, answer: np.ndarray) -> float:
        return float(vars(self)["epsilon"])


class Constant(Plain):
    """Returns the same weights whatever the answers are: useless, and private."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        return Fit.good(np.ones((curator.runs, curator.geometry.dimension)))


@dataclass(frozen=True)
class Asked(Mechanism):
    """Asks one query, and returns what it was told."""

    name: ClassVar[str] = "asked"
    query: Any = None

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        answer = curator.release(self.query, Noise(Laplace(), np.ones(1), budget.epsilon, "wrong"))
        return Fit.good(np.broadcast_to(answer[:, :1], (curator.runs, curator.geometry.dimension)))


@dataclass(frozen=True)
class Sums(RowQuery):
    """The sum of the target; ``how`` plants the fault."""

    how: str = "sound"
    name: str = "sums"
    size: ClassVar[int] = 1

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        y = rows.y[:, None]
        match self.how:
            case "centred":
                return y - y.mean()
            case "normalised":
                return y / max(np.abs(y).max(), 1e-9)
            case "position":
                return y * np.arange(1, rows.n + 1)[:, None]
            case "outliers":
                return y * (np.abs(y - y.mean()) <= 3 * y.std())
            case "large tables":
                return y if rows.n <= 60 else 4 * y
            case "duplicates":
                return y * (1 + (len(np.unique(rows.z, axis=0)) < rows.n))
        return y


class Weighty(MomentQuery):
    """Σ s y, where the weights of a row depend on all of them."""

    name = "weighty"
    weighted = True
    layers = (Layer([0], [-1 + 4], [1.0]),)

    def weights(self, rows: Any, run: int) -> np.ndarray:
        return rows.y - rows.y.mean()


class AboveTheMedian:
    """Divides rows at their median target, which depends on all of them."""

    def locate(self, rows: Any) -> np.ndarray:
        return np.asarray(rows.y > np.median(rows.y), dtype=int)[:, None]


class MedianCells(CellQuery):
    """The number of rows on either side of the median."""

    name = "median cells"
    cells = 2
    columns = (0,)
    partition = AboveTheMedian()

    def cell_of(self, index: np.ndarray, run: int) -> np.ndarray:
        return index[:, 0]

    def values(self, rows: Any) -> np.ndarray:
        return np.asarray(rows.z[:, :1])


@pytest.fixture
def subject(make):
    model = make("model", "linear")

    def of(mechanism: Mechanism, **settings: Any) -> AuditSubject:
        geometry = example_geometry(model, 2)
        streams, size = settings.pop("streams", None), settings.pop("size_class", 0)
        budget = Budget(1.0, 1e-6, "pure")
        return AuditSubject(mechanism, model, budget, geometry, AuditSettings(**settings), streams=streams, size_class=size)

    return of


@pytest.mark.parametrize("fault", [FoldAverage, SlightShare, HealthOfAllRuns])
def test_a_run_that_depends_on_other_runs_is_caught(fault, subject) -> None:
    check_fits(subject(Plain()))
    with pytest.raises(Violation, match="depends on the answers of other runs"):
        check_fits(subject(fault()))


def test_a_global_generator_is_caught(subject) -> None:
    with pytest.raises(Violation, match="global random generator"):
        check_fits(subject(GlobalDice()))


@pytest.mark.parametrize(("fault", "factor"), [(KnownSeed, r"1e\+09"), (RefusingKnownSeed, "0.001")])
def test_a_mechanism_that_subtracts_the_simulated_noise_is_caught(fault, factor, subject) -> None:
    """An error at a very large ε is no evidence, and no excuse either: a very small one is tried then."""
    check_noise(subject(fault()))  # these streams are not those that it knows
    with pytest.raises(Violation, match=f"noise does not reach the weights: they are the same at {factor} times"):
        check_noise(subject(fault(), streams=(3, "a table")))


@pytest.mark.parametrize("sound", [Plain, Constant])
def test_noise_reaches_weights_or_they_are_constant(sound, subject) -> None:
    check_noise(subject(sound()))


def test_a_sound_query_is_the_sum_of_its_rows_on_every_table(subject) -> None:
    sound = subject(Asked(query=Sums()), size_class=1_000)
    check_sums(sound, sound.tape_fit().tape)


@pytest.mark.parametrize("columns", [1, 3, 12])
@pytest.mark.parametrize("number", range(5))
def test_honest_mechanisms_that_round_stop_or_refuse_pass_every_check(number, columns, honest, make) -> None:
    mechanism, model = honest.HONEST[number](), make("model", "linear")
    budget, geometry = Budget(1.0, 1e-6, mechanism.counted()), example_geometry(model, columns)
    tried = AuditSubject(mechanism, model, budget, geometry, AuditSettings(), size_class=1_000)
    check_fits(tried)
    check_noise(tried)
    check_sums(tried, tried.tape_fit().tape)


def test_a_cell_that_depends_on_other_rows_is_caught(subject) -> None:
    asked = subject(Asked(query=MedianCells()), size_class=1_000)
    with pytest.raises(Violation, match="depends on the other rows"):
        check_sums(asked, asked.tape_fit().tape)


@pytest.mark.parametrize(
    "query", [*map(Sums, ("centred", "normalised", "position", "outliers", "large tables", "duplicates")), Weighty()]
)
def test_a_contribution_that_depends_on_other_rows_is_caught(query, subject) -> None:
    asked = subject(Asked(query=query), size_class=1_000)
    with pytest.raises(Violation, match="depends on the other rows"):
        check_sums(asked, asked.tape_fit().tape)


@pytest.mark.parametrize("name", ["fm", "dpba", "dpc", "privr", "dpme", "fp", "cdp_irls", "drop_sensitive"])
def test_built_in_mechanisms_pass_every_check(name, make, subject) -> None:
    options = {"base": "fm"} if name == "drop_sensitive" else {}
    for seed in range(3):
        audited = subject(make("mechanism", name, **options), seed=seed)
        audited = replace(audited, budget=replace(audited.budget, currency=audited.mechanism.counted()))
        check_fits(audited)
        check_noise(audited)
        check_sums(audited, audited.tape_fit().tape)


class SameSeed(Plain):
    """Sets the seed that a process shares, to the same number in every fit."""

    def fitted(self, query: Any, answer: np.ndarray, curator: Any) -> Fit:
        np.random.seed(3)
        return super().fitted(query, answer, curator)


def test_a_global_seed_is_seen_in_every_fit_and_not_left_behind(make) -> None:
    """The first fit leaves the state that the second one sets again."""
    model = make("model", "linear")
    tried = AuditSubject(SameSeed(), model, Budget(1.0, 1e-6, "pure"), example_geometry(model, 1), AuditSettings("replay"))
    before = repr(np.random.get_state())
    assert [fit_batch(tried).used_global_generator for _ in range(3)] == [True] * 3
    assert repr(np.random.get_state()) == before


@pytest.mark.slow
def test_where_predictions_meet_the_targets_rounding_is_no_dependence_on_other_rows(make) -> None:
    """All gradients of such rows are rounding errors, which differ in another order."""
    model = make("model", "linear")
    geometry = example_geometry(model, 1, scaling="ball")
    mechanism = make("mechanism", "frank_wolfe")
    tried = AuditSubject(mechanism, model, Budget(1.0, 1e-6, mechanism.counted()), geometry, AuditSettings("replay"))
    check_sums(tried, tried.tape_fit().tape or [])


def test_whole_number_noise_that_is_zero_in_every_draw_is_no_evidence(make) -> None:
    """At ε = 100 geometric noise on counts is zero but once in e^50 draws: equal weights at a larger ε then tell nothing."""
    model = make("model", "linear")
    budget = Budget(100.0, 1e-6, "pure")
    check_noise(AuditSubject(make("mechanism", "fp"), model, budget, example_geometry(model, 2, 2), AuditSettings()))


@pytest.mark.parametrize("name", ["dpme", "fp", "binagg", "privr", "boosted_adassp", "objective_perturbation"])
def test_every_kind_of_answer_can_be_compared_with_the_exact_one(name, make) -> None:
    """Histograms that are scanned or sampled, sums, and procedures."""
    model, mechanism = make("model", "linear"), make("mechanism", name)
    budget = Budget(1.0, 1e-6, mechanism.counted())
    check_noise(AuditSubject(mechanism, model, budget, example_geometry(model, 2, 2), AuditSettings()))
