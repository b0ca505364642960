"""A mechanism written for one run is the batched one, run by run, and its curator answers every call without a run axis."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.base.errors import Refused
from dpbench.contracts.mechanism import OneRunCurator, OneRunMechanism, fit_closed
from dpbench.data.bins import Binning
from dpbench.data.blocks import Block
from dpbench.data.scaling import scale
from dpbench.data.splits import Splits
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget, Overspent
from dpbench.privacy.noise import Draws, Laplace, geometric, laplace
from dpbench.privacy.queries.histogram import Histogram
from dpbench.registry.lookup import registry

BUDGET = Budget(0.9, 1e-6, "pure")


@dataclass(frozen=True)
class Twin(OneRunMechanism):
    """fm convention=monomial sensitivity=tight ridge=0 repair=trim, for a single run."""

    name: ClassVar[str] = "twin"
    times: int = 1

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        for _ in range(self.times):
            noise = laplace(query.l1_bound("tight"), budget.epsilon / self.times, query.proof("tight"))
            answer = curator.release(query, noise)
        return np.asarray(problem.regularised(query.quadratic(answer[None], problem.n)).trimmed().minimiser()[0])


@dataclass(frozen=True)
class Uneven(OneRunMechanism):
    """Spends half of its budget on 80 rows, all of it on more."""

    name: ClassVar[str] = "uneven"

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight"), budget.epsilon * (0.5 if curator.n == 80 else 1.0), "p")
        return np.asarray(curator.release(query, noise)[: problem.geometry.dimension])


@pytest.fixture
def block(table) -> Block:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (121, 4))
    rows = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    splits = Splits(repeats=3, folds=3)
    return Block(lambda r: rows, lambda r: splits.assign(rows.n, rows.n, 0, "t", r), range(3), splits.parts, splits.tests)


def curator_of(block: Block) -> Curator:
    return Curator(block.train, Draws(0, "t", block.runs), BUDGET)


@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_a_one_run_twin_gives_the_same_bits_and_the_same_ledger(model, block, make) -> None:
    batched, single = curator_of(block), curator_of(block)
    fm = make("mechanism", "fm", sensitivity="tight", ridge=0.0)
    expected = fm.fit(batched, make("model", model).prepare(batched), BUDGET)
    found = Twin().fit(single, make("model", model).prepare(single), BUDGET)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert single.ledger.as_dict() == batched.ledger.as_dict()
    assert single.ledger.total.epsilon == pytest.approx(BUDGET.epsilon)


def test_repeated_calls_of_one_run_get_noise_of_their_own(block, make) -> None:
    one, two = curator_of(block), curator_of(block)
    first = Twin(times=1).fit(one, make("model", "linear").prepare(one), BUDGET)
    second = Twin(times=2).fit(two, make("model", "linear").prepare(two), BUDGET)
    assert (first.weights != second.weights).any(axis=1).all()
    assert [entry.cost.epsilon for entry in two.ledger.entries] == [0.45, 0.45]


def test_the_merged_ledger_is_the_costliest_run_s(block, make) -> None:
    assert block.train.n[0] == 80
    assert 81 in block.train.n
    curator = curator_of(block)
    Uneven().fit(curator, make("model", "linear").prepare(curator), BUDGET)
    assert curator.ledger.total.epsilon == pytest.approx(BUDGET.epsilon)


def test_what_was_paid_before_the_fit_stays_in_the_ledger(block, make) -> None:
    """A model that chose its penalty on the exact rows is not forgotten because the mechanism works run by run."""
    curator = curator_of(block)
    problem = make("model", "linear").prepare(curator)
    curator.reveal("penalty", lambda sample: None, "chosen by cross-validation")
    Twin().fit(curator, problem, BUDGET)
    assert [entry.query for entry in curator.ledger.entries] == ["penalty", "objective"]
    assert not curator.ledger.sound
    assert not curator.ledger.total.private


def test_what_was_paid_before_the_fit_counts_against_the_budget(block, make) -> None:
    curator = curator_of(block)
    problem = make("model", "linear").prepare(curator)
    query = problem.polynomial()
    curator.release(query, laplace(query.l1_bound("tight"), BUDGET.epsilon / 2, "p"))
    with pytest.raises(Overspent):
        Twin().fit(curator, problem, BUDGET)


def test_the_noise_of_a_call_before_the_fit_is_not_used_again(block, make) -> None:
    """Two answers to one query with the same standard noise would cancel: the second call has the second stream."""
    half = BUDGET.share(0.5)
    answers = []
    for twin in (False, True):
        curator = curator_of(block)
        problem = make("model", "linear").prepare(curator)
        query = problem.polynomial()
        noise = laplace(query.l1_bound("tight"), half.epsilon, "p")
        curator.release(query, noise)
        if twin:
            answers.append(Twin().fit(curator, problem, half).weights)
        else:
            fm = make("mechanism", "fm", sensitivity="tight", ridge=0.0)
            answers.append(fm.fit(curator, problem, half).weights)
    np.testing.assert_array_equal(answers[0], answers[1])


# -- the curator of a single run -------------------------------------------------------------------------------------------


@pytest.fixture
def curators(geometry, rows, curate):
    """A curator of one run, and the same one without the run axis."""
    generator = np.random.default_rng(0)
    sample = rows(geometry(2), generator.uniform(-1, 1, (40, 2)), generator.uniform(-1, 1, 40))
    return curate(sample, epsilon=4.0), OneRunCurator(curate(sample, epsilon=4.0))


def test_a_curator_of_one_run_has_every_call_of_a_curator() -> None:
    """Only what concerns several runs, and what audits and the core read, is left out."""
    calls = {name for name, _ in inspect.getmembers(Curator, inspect.isfunction) if not name.startswith("_")}
    assert calls - {"for_run"} <= {name for name in dir(OneRunCurator) if not name.startswith("_")}
    for name in calls - {"for_run"}:
        batched, single = (inspect.signature(getattr(owner, name)) for owner in (Curator, OneRunCurator))
        assert list(batched.parameters) == list(single.parameters), name


def test_sums_come_without_the_run_axis(curators, make) -> None:
    batched, single = curators
    query = make("model", "linear").prepare(batched).polynomial()
    noise = laplace(1.0, 0.5, "p")
    np.testing.assert_array_equal(single.release(query, noise), batched.release(query, noise)[0])

    def sampler(exact: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return exact + generator.normal(size=exact.shape)

    answer = single.unproven(query, sampler, Pure(0.5), "a test")
    assert answer.shape == (query.size,)
    np.testing.assert_array_equal(answer, batched.unproven(query, sampler, Pure(0.5), "a test")[0])


def test_drawing_until_accepted_asks_about_the_answer_alone(curators, make) -> None:
    batched, single = curators
    query = make("model", "linear").prepare(batched).polynomial()
    answer, accepted = single.until(query, laplace(1.0, 0.5, "p"), lambda answer: answer[0] > 15)
    expected, _ = batched.until(query, laplace(1.0, 0.5, "p"), lambda run, answer: answer[0] > 15)
    np.testing.assert_array_equal(answer, expected[0])
    assert accepted is True
    _, accepted = single.until(query, laplace(1.0, 0.5, "p"), lambda answer: False, max_tries=3)
    assert accepted is False


def test_histograms_come_without_the_run_axis(curators) -> None:
    batched, single = curators
    histogram = Histogram(Binning(batched.geometry, 3))
    noise = geometric(2, 0.5, "p")
    scanned = single.scan(histogram, noise, 10)
    expected = batched.scan(histogram, noise, 10)
    for _ in range(2):  # a scan can be read again
        for (start, counts), (first, block) in zip(scanned.blocks(), expected.blocks(0), strict=True):
            assert start == first
            np.testing.assert_array_equal(counts, block)
    summary = single.sparse(histogram, noise, 3, 5)
    (other,) = batched.sparse(histogram, noise, 3, 5)
    np.testing.assert_array_equal(summary.index, other.index)
    np.testing.assert_array_equal(summary.counts, other.counts)


def test_what_is_not_private_is_named_in_the_same_ledger(geometry, rows, curate) -> None:
    batched, wrapped = (curate(rows(geometry(1), np.zeros((40, 1)), np.zeros(40))) for _ in range(2))
    for curator in (batched, OneRunCurator(wrapped)):
        assert curator.reveal("rows", lambda sample: int(sample.n[0]), "a test") == 40
        assert curator.leak("penalty_by_cv", "a test", lambda sample: sample.runs) == 1
    assert wrapped.ledger.as_dict() == batched.ledger.as_dict()


def test_a_curator_without_an_attribute_still_has_no_run_axis(curators, make) -> None:
    batched, single = curators
    narrow = single.without(["x0"])
    assert isinstance(narrow, OneRunCurator)
    assert narrow.geometry == batched.without(["x0"]).geometry
    query = make("model", "linear").prepare(batched.without(["x0"])).polynomial()
    noise = laplace(1.0, 3.0, "p")
    np.testing.assert_array_equal(narrow.release(query, noise), batched.without(["x0"]).release(query, noise)[0])
    with pytest.raises(Overspent):
        single.release(query, noise)


@pytest.mark.parametrize(("name", "published"), [("fm", "paper"), ("dpba", "fang"), ("dpc", "fang")])
def test_auto_is_what_the_key_says_and_tight_without_a_command(name, published, make) -> None:
    mechanism = make("mechanism", name)
    assert (mechanism.sensitivity, mechanism.sensitivity_rule()) == ("auto", "tight")
    assert mechanism.with_sensitivity("tight").sensitivity == "tight"
    assert mechanism.with_sensitivity("published").sensitivity == published


def test_an_own_rule_overrides_the_key(make) -> None:
    for key in ("tight", "published"):
        for rule in ("paper", "fang", "code", "tight"):
            mechanism = make("mechanism", "fm", sensitivity=rule, ridge=2.0)
            assert mechanism.sensitivity_rule(key) == rule
            assert mechanism.with_sensitivity(key) == mechanism


def test_a_mechanism_without_the_option_has_one_rule_or_none(make) -> None:
    for key in ("tight", "published"):
        assert make("mechanism", "privr").sensitivity_rule(key) == "tight"
        assert make("mechanism", "dpme").sensitivity_rule(key) is None
        for name in ("privr", "dpme", "no_privacy"):
            assert make("mechanism", name).with_sensitivity(key) == make("mechanism", name)


@pytest.mark.parametrize("name", ["fm", "dpba", "dpc"])
def test_used_directly_auto_draws_the_noise_of_tight(name, block, make) -> None:
    ledgers = []
    for options in ({}, {"sensitivity": "tight"}):
        curator = curator_of(block)
        mechanism = make("mechanism", name, **options, **({"sensitive": ("x1",)} if name == "dpc" else {}))
        mechanism.fit(curator, make("model", "linear").prepare(curator), BUDGET)
        ledgers.append(curator.ledger.as_dict())
    assert ledgers[0] == ledgers[1]


# -- how the core runs a mechanism -----------------------------------------------------------------------------------------


class Vandal(Twin):
    """Does what ``harm`` says to what it is handed, and then what its base does."""

    name = "vandal"
    harm: Any = None

    def fit(self, curator: Any, problem: Any, budget: Any) -> Any:
        type(self).harm(curator, problem)
        return super().fit(curator, problem, budget)


def test_a_plugin_cannot_change_the_problem_that_other_cells_use(block, make) -> None:
    problem = make("model", "ridge").prepare(curator_of(block))
    before = fit_closed(Twin(), problem, curator_of(block), BUDGET).weights
    problem.exact(block.train)
    seen: list[Any] = []

    def harm(curator: Any, own: Any) -> None:
        seen.append(own)
        own.penalty = own.penalty * 1e6

    Vandal.harm = staticmethod(harm)
    fit_closed(Vandal(), problem, curator_of(block), BUDGET)
    np.testing.assert_array_equal(fit_closed(Twin(), problem, curator_of(block), BUDGET).weights, before)
    assert seen[0] is not problem
    assert all(value is not block.train for value in vars(seen[0]).values()), "no rows hang on it"


def test_a_plugin_that_replaces_a_function_is_refused_and_the_function_is_put_back(block, make) -> None:
    standard = Laplace.standard
    Vandal.harm = staticmethod(
        lambda curator, problem: setattr(Laplace, "standard", lambda self, generator, size: np.zeros(size))
    )
    problem = make("model", "linear").prepare(curator_of(block))
    with pytest.raises(Refused, match=r"The mechanism vandal replaces functions of dpbench: Laplace\.standard"):
        fit_closed(Vandal(), problem, curator_of(block), BUDGET)
    assert Laplace.standard is standard


@pytest.mark.parametrize("what", ["moments", "rows", "n", "answer"])
def test_what_a_plugin_is_handed_is_read_only(what, block, make) -> None:
    curator = curator_of(block)
    query = make("model", "linear").prepare(curator).polynomial()
    arrays = {
        "moments": lambda: curator.leak("w", "w", lambda sample: sample.moments.xy),
        "rows": lambda: curator.leak("w", "w", lambda sample: sample.rows(0).x),
        "n": lambda: curator.n,
        "answer": lambda: curator.release(query, laplace(1.0, 0.1, "p")),
    }
    with pytest.raises(ValueError, match="read-only"):
        arrays[what]()[:] = 0.0


def test_a_mechanism_that_says_so_fits_the_same_under_every_budget(block, make) -> None:
    """Then one cell stands for all budgets. The other mechanisms of this package do not say so, and their fits differ."""
    budgets = [BUDGET, Budget(9.0, 1e-3, "pure")]

    def same(mechanism: Any, model: str) -> bool:
        fits = []
        for budget in budgets:
            curator = Curator(block.train, Draws(0, "t", block.runs), budget)
            fits.append(mechanism.fit(curator, make("model", model).prepare(curator), budget).weights)
        return np.array_equal(*fits)

    free = [name for name in registry().names("mechanism") if not make("mechanism", name).uses_budget()]
    assert free == ["drop_sensitive", "no_privacy", "truncated"]
    assert same(make("mechanism", "no_privacy"), "linear")
    assert same(make("mechanism", "truncated"), "logistic")
    assert not same(make("mechanism", "fm"), "linear")
    assert make("mechanism", "drop_sensitive", base="fm").uses_budget()
