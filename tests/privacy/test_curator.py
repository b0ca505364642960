"""The Curator answers by the streams of its runs, and until accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.costs import Pure
from dpbench.data.bins import Binning
from dpbench.data.blocks import Block
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Overspent
from dpbench.privacy.noise import KNorm, Laplace, Noise, gaussian, laplace
from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.query import Query, RowQuery


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


def test_noise_that_is_drawn_together_needs_every_scale_and_no_blocks(curate, zeros, query) -> None:
    with pytest.raises(ValueError, match="must have scales of shape"):
        curate(zeros).release(query, Noise(KNorm(), np.array([1.0]), 1.0, "proof"))
    histogram = Histogram(Binning(zeros.geometry, 2))
    noise = Noise(KNorm(), np.ones(histogram.size), 1.0, "proof")
    with pytest.raises(ValueError, match="drawn block by block, and knorm noise all at once"):
        curate(zeros).scan(histogram, noise, 4)


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


# -- what a plugin's query cannot do ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mine(RowQuery):
    """The sum of the target, under a name that the core uses as well."""

    name: str = "objective"
    size: ClassVar[int] = 1

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        return rows.y[:, None]

    def exact(self, sample: Any) -> np.ndarray:
        return np.full((sample.runs, 1), 99.0)


class Theirs(Mine):
    """Another plugin's query, which claims to equal every other one."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(Mine())

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        return np.full((rows.n, 1), 7.0)


@dataclass(frozen=True)
class Silent(Laplace):
    """A law that does not draw."""

    name: ClassVar[str] = "silent"

    def standard(self, generator: np.random.Generator, size: int) -> np.ndarray:
        return np.zeros(size)


def test_a_total_of_a_query_s_own_making_is_never_asked_for(curate, zeros) -> None:
    curator = curate(zeros, 1e9)
    np.testing.assert_allclose(curator.release(Mine(), laplace(1.0, 1e9, "p")), 0.0, atol=1e-6)


def test_a_query_of_another_class_shares_neither_noise_nor_sums(geometry, rows, curate) -> None:
    table = rows(geometry(1), np.ones((9, 1)), np.linspace(-1, 0.5, 9))
    block = Block(lambda repeat: table, lambda repeat: np.arange(9) % 2, range(1), 2, 2)
    drawn = curate(block.train, runs=block.runs)
    own, other = (drawn.release(query, laplace(1.0, 1e-6, "p")) for query in (Mine(), Theirs()))
    exact = [answer.exact for answer in drawn.tape]
    np.testing.assert_array_equal(exact[1][:, 0], 7.0 * block.train.n)
    assert (exact[0] != exact[1]).all()
    noise = [curate(block.train, runs=block.runs).release(query, laplace(1.0, 1.0, "p")) for query in (Mine(), Theirs())]
    assert (noise[0] - exact[0] != noise[1] - exact[1]).all()
    assert (own != other).all()


def test_a_law_of_a_plugin_is_never_cached_for_others_and_carries_no_proof(curate, zeros, query) -> None:
    curator = curate(zeros, 2.0)
    assert not curator.release(query, Noise(Silent(), np.ones(1), 1.0, "p")).any()
    assert not curator.ledger.sound
    assert "unproven" in curator.ledger.doubt
    again = Curator(curator._sample, curator._draws, curator.ledger.budget)
    assert again.release(query, laplace(1.0, 1.0, "p")).all(), "the same stream, the core's law"
    with pytest.raises(ValueError, match="name of its own"):
        Noise(type("Laplace", (Laplace,), {})(), np.ones(1), 1.0, "p")


def test_a_noise_of_another_class_is_refused(curate, zeros, query) -> None:
    class Cheap(Noise):
        """Half of its price."""

        @property
        def cost(self) -> Any:
            return Pure(self.bound / 2)

    curator = curate(zeros)
    with pytest.raises(TypeError, match="not a subclass"):
        curator.release(query, Cheap(Laplace(), np.ones(1), 1.0, "p"))
    assert not curator.ledger.entries


def test_scales_cannot_change_after_they_were_paid_for(curate, zeros, query) -> None:
    scale = np.full((1, 1), 5.0)
    noise = Noise(Laplace(), scale, 1.0, "p")
    scale[:] = 1e-9
    assert noise.scale[0, 0] == 5.0


def test_what_is_no_query_or_gives_no_numbers_is_refused(curate, zeros) -> None:
    class Neither(Query):
        """A total of its own making."""

        name = "neither"
        size = 1

        def exact(self, sample: Any) -> np.ndarray:
            return np.zeros((1, 1))

    class Odd(Mine):
        """A contribution of another shape, or none that is a number."""

        def contribution(self, rows: Any, run: int) -> np.ndarray:
            return np.full((rows.n, 1), np.nan) if self.name == "nan" else np.ones(rows.n)

    noise = laplace(1.0, 0.1, "p")
    for query, message in (
        (Neither(), "a RowQuery or a CellQuery"),
        (Odd("odd"), "the shape"),
        (Odd("nan"), "finite"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            curate(zeros).release(query, noise)
    with pytest.raises(ValueError, match="can be printed"):
        curate(zeros).release(Mine("objective\x1fint:0"), noise)


# -- curators of one run ---------------------------------------------------------------------------------------------------


def test_the_same_run_twice_continues_the_numbering_the_tape_and_the_ledger(repeated, curate, zeros, query) -> None:
    curator, noise = curate(repeated(zeros, 2), 1.0), laplace(1.0, 0.5, "p")
    first, second = (curator.for_run(1).release(query, noise) for _ in range(2))
    assert (first != second).all()
    assert [answer.run for answer in curator.tape] == [1, 1]
    assert curator.ledger.total.epsilon == pytest.approx(1.0)
    with pytest.raises(Overspent):
        curator.for_run(1).release(query, noise)
    with pytest.raises(Overspent):
        curator.release(query, noise)
    curator.for_run(0).release(query, noise)


def test_a_fit_that_asked_nothing_is_not_sound(curate, zeros) -> None:
    ledger = curate(zeros).ledger
    assert not ledger.sound
    assert "nothing was asked" in ledger.doubt
