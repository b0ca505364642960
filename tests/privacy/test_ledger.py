"""The ledger: the total is the budget, nothing is overspent, and what is not private is visible."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.conversion import epsilon_of_gdp
from dpbench.accounting.costs import Approx, Gdp, LedgerEntry, Nothing, Pure, Zcdp
from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget, Ledger, Overspent, merge
from dpbench.privacy.noise import Draws, gaussian, laplace
from dpbench.records.leaks import Leak

PROVEN: list[tuple[str, dict[str, Any]]] = [
    *(
        ("fm", {"convention": c, "sensitivity": s})
        for c in ("monomial", "matrix", "code")
        for s in ("paper", "fang", "code", "tight")
    ),
    *(("fm", {"repair": repair, "ridge": ridge}) for repair in ("trim", "floor", "none") for ridge in ("auto", 0.0, 2.5)),
    ("fm", {"until_bounded": True}),
    *(("dpba", {"alpha": alpha}) for alpha in ("paper", "opt", 0.2, 0.999)),
    ("dpba", {"alpha": "paper", "beta": 1.5}),
    ("dpba", {"alpha": "opt", "radius": 7.0}),
]


@pytest.fixture
def some(geometry, rows):
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (500, 2))
    return rows(geometry(2, intercept=True), x, np.tanh(x.sum(axis=1)))


class Counted(Draws):
    """Streams that count how often anything is asked of them."""

    def __init__(self, seed: int = 0, identity: str = "t", runs: Any = ((0, 0),)) -> None:
        super().__init__(seed, identity, runs)
        self.used: Counter[str] = Counter()

    def generator(self, run: int, query: str, call: int) -> np.random.Generator:
        self.used["generator"] += 1
        return super().generator(run, query, call)


@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, 3.2])
@pytest.mark.parametrize(("name", "options"), PROVEN)
def test_the_total_is_the_budget(name, options, epsilon, some, make, curate) -> None:
    curator = curate(some, epsilon=epsilon)
    for model in ("linear", "ridge"):
        curator = curate(some, epsilon=epsilon)
        make("mechanism", name, **options).fit(curator, make("model", model).prepare(curator), curator.ledger.budget)
        assert curator.ledger.total.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert curator.ledger.total.delta == 0
        assert curator.ledger.sound
        (answer,) = curator.tape
        (entry,) = curator.ledger.entries
        assert entry.scale == (answer.noise.scale.min(), answer.noise.scale.max()), "the accounted noise is the drawn one"


def test_no_privacy_has_no_guarantee(some, make, curate) -> None:
    curator = curate(some)
    make("mechanism", "no_privacy").fit(curator, make("model", "linear").prepare(curator), curator.ledger.budget)
    assert not curator.ledger.sound
    assert curator.ledger.total.epsilon == math.inf
    assert curator.ledger.as_dict()["total"]["epsilon"] is None


def test_a_capped_loop_has_no_guarantee_and_an_uncapped_one_costs_twice(some, make, curate) -> None:
    curator = curate(some, 2.0)
    problem = make("model", "linear").prepare(curator)
    fit = make("mechanism", "fm", until_bounded=True).fit(curator, problem, curator.ledger.budget)
    (entry,), (answer,) = curator.ledger.entries, curator.tape
    assert answer.noise.cost == Pure(1.0)
    assert entry.cost == Pure(2.0)
    assert entry.sound
    assert answer.noise.scale[0, 0] == pytest.approx(4**2 / 1.0)
    capped = curate(some, 2.0)
    again = make("mechanism", "fm", until_bounded=True, max_tries=10_000).fit(capped, problem, capped.ledger.budget)
    np.testing.assert_array_equal(fit.weights, again.weights)
    assert not capped.ledger.sound
    assert capped.ledger.total.epsilon == math.inf


def test_overspending_is_refused_before_anything_is_drawn(some, make) -> None:
    """Neither a generator nor the exact answer is touched, and the ledger stays as it was."""

    class Untouchable(WholeSample):
        @property
        def moments(self) -> Any:
            raise AssertionError("the rows were read")

        def sums(self, query: Any) -> Any:
            raise AssertionError("the rows were read")

    query = make("model", "linear").prepare(Curator(WholeSample(some), Counted(), Budget())).polynomial()
    calls = {
        "release": lambda curator: curator.release(query, laplace(1.0, 1.1, "p")),
        "until": lambda curator: curator.until(query, laplace(1.0, 0.6, "p"), lambda run, answer: True),
        "gaussian": lambda curator: curator.release(query, gaussian(1.0, 0.1, "p")),
        "unproven": lambda curator: curator.unproven(query, lambda exact, generator: exact, Pure(1.1), "claimed"),
    }
    for call in calls.values():
        draws = Counted()
        curator = Curator(Untouchable(some), draws, Budget(1.0, 1e-6, "pure"))
        with pytest.raises(Overspent, match="Nothing was drawn"):
            call(curator)
        assert not draws.used
        assert not curator.ledger.entries


def test_a_budget_can_be_spent_to_the_last_bit_and_no_further(some, make) -> None:
    curator = Curator(WholeSample(some), Counted(), Budget(0.3, 1e-6, "pure"))
    query = make("model", "linear").prepare(curator).polynomial()
    answers = [curator.release(query, laplace(1.0, 0.1, "p")) for _ in range(3)]
    assert all((a != b).all() for a, b in pairwise(answers)), "each call has noise of its own"
    with pytest.raises(Overspent):
        curator.release(query, laplace(1.0, 1e-6, "p"))


@pytest.mark.parametrize(
    ("currency", "costs", "spent"),
    [
        ("pure", [Pure(0.2), Pure(0.3)], 0.5),
        ("pure", [Pure(0.2), Gdp(0.3)], math.inf),
        ("pure", [Pure(0.2), Approx(0.1, 1e-9)], math.inf),
        ("zcdp", [Zcdp(0.2), Pure(0.4), Gdp(0.6)], 0.2 + 0.08 + 0.18),
        ("zcdp", [Zcdp(0.2), Approx(0.1, 1e-9)], math.inf),
        ("gdp", [Gdp(0.3), Gdp(0.4)], 0.5),
        ("gdp", [Gdp(0.3), Pure(0.4)], math.inf),
        ("approx", [Pure(0.2), Approx(0.1, 1e-9)], 0.3),
    ],
)
def test_costs_are_counted_in_the_budget_s_currency(currency, costs, spent) -> None:
    assert Budget(1.0, 1e-6, currency).spent(costs) == pytest.approx(spent, rel=1e-12)
    assert Budget(1.0, 1e-6, currency).spent(costs[::-1]) == pytest.approx(spent, rel=1e-12)


def test_the_order_of_the_entries_does_not_matter(some, make) -> None:
    entries = [LedgerEntry(f"q{i}", cost, True, "p") for i, cost in enumerate((Pure(0.1), Pure(1 / 3), Pure(0.25), Pure(1e-3)))]
    totals = set()
    for order in permutations(entries):
        ledger = Ledger(Budget(1.0, 1e-6, "pure"))
        for entry in order:
            ledger.spend(entry)
        totals.add(ledger.total)
    assert len(totals) == 1


def test_what_is_not_private_or_not_proven_is_unsound(some, make) -> None:
    def curator() -> Curator:
        return Curator(WholeSample(some), Counted(), Budget(1.0, 1e-6, "pure"))

    query = make("model", "linear").prepare(curator()).polynomial()
    revealed = curator()
    assert revealed.reveal("n", lambda sample: int(sample.n[0]), "a test") == 500
    assert not revealed.ledger.sound
    assert not revealed.ledger.total.private
    unproven = curator()
    answer = unproven.unproven(query, lambda exact, generator: exact + generator.normal(size=exact.shape), Pure(0.5), "a test")
    assert answer.shape == (1, query.size)
    assert not unproven.ledger.sound
    assert unproven.ledger.total.epsilon == 0.5, "the claim is what is counted; that it is unproven is a separate fact"


def test_the_ledger_as_json_has_the_public_shape(some, make, curate) -> None:
    curator = curate(some, 1.0)
    for _ in range(2):
        assert curator.leak("bounds_from_data", "read from the rows", lambda sample: sample.runs) == 1
    make("mechanism", "dpba").fit(curator, make("model", "linear").prepare(curator), curator.ledger.budget)
    written = json.loads(json.dumps(curator.ledger.as_dict(), allow_nan=False))
    assert set(written) == {"neighbours", "entries", "total", "leaks"}
    assert written["neighbours"] == "replace_one"
    (entry,) = written["entries"]
    assert {"query", "norm", "sensitivity", "noise", "scale", "cost", "sound", "proof"} <= set(entry)
    assert (entry["query"], entry["norm"], entry["noise"], entry["sound"]) == ("objective", "L1", "laplace", True)
    assert set(entry["scale"]) == {"smallest", "largest"}
    assert entry["sensitivity"] is None
    assert entry["cost"] == {"kind": "pure", "epsilon": 1.0}
    assert written["total"] == {"epsilon": 1.0, "delta": 0.0}
    assert written["leaks"] == [{"what": "bounds_from_data", "why": "read from the rows"}]


def test_one_scale_is_written_as_a_number_with_its_sensitivity(some, make, curate) -> None:
    curator = curate(some, 0.5)
    make("mechanism", "fm").fit(curator, make("model", "linear").prepare(curator), curator.ledger.budget)
    (entry,) = curator.ledger.as_dict()["entries"]
    assert entry["sensitivity"] == pytest.approx(4**2)
    assert entry["scale"] == pytest.approx(4**2 / 0.5)


@pytest.mark.parametrize(("currency", "worth"), [("gdp", 0.5), ("zcdp", 0.125), ("approx", epsilon_of_gdp(0.5, 1e-6))])
def test_normal_noise_is_entered_in_mu_and_checked_in_the_budget_s_currency(currency, worth, some, make) -> None:
    """ρ = μ²/2: a budget of exactly that pays for the answer, and one that is a millionth smaller refuses it."""
    noise = gaussian(3.0, 0.5, "p")
    assert noise.scale[0, 0] == pytest.approx(6.0)
    assert noise.sensitivity == pytest.approx(3.0)
    enough, too_little = (Curator(WholeSample(some), Counted(), Budget(b, 1e-6, currency)) for b in (worth, worth * (1 - 1e-6)))
    query = make("model", "linear").prepare(enough).polynomial()
    enough.release(query, noise)
    assert [entry.cost for entry in enough.ledger.entries] == [Gdp(0.5)]
    with pytest.raises(Overspent):
        too_little.release(query, noise)
    assert not too_little.ledger.entries


def test_merged_ledgers_keep_the_costliest_run_the_widest_scales_and_every_leak() -> None:
    def ledger(scale: float, epsilon: float, leak: str) -> Ledger:
        entry = laplace(scale * epsilon, epsilon, "p").ledger_entry("q")
        return Ledger(Budget(2.0, 1e-6, "pure"), [entry], [Leak(leak, "why")])

    same = merge([ledger(1.0, 0.5, "a"), ledger(3.0, 0.5, "b"), ledger(2.0, 0.5, "a")])
    assert same.entries[0].scale == (1.0, 3.0)
    assert same.entries[0].sensitivity is None, "no single one belongs to several scales"
    assert [leak.what for leak in same.leaks] == ["a", "b"]
    for order in permutations([ledger(1.0, 0.5, "a"), ledger(1.0, 0.9, "b"), ledger(1.0, 0.1, "c")]):
        assert merge(order).total.epsilon == 0.9
        assert {leak.what for leak in merge(order).leaks} == {"a", "b", "c"}
    unsound = Ledger(Budget(2.0, 1e-6, "pure"), [LedgerEntry("q", Nothing(), False, "none")])
    for order in permutations([ledger(1.0, 0.5, "a"), unsound]):
        assert not merge(order).sound


def test_a_ledger_says_whose_change_it_prices(geometry, rows, curate) -> None:
    """Merging keeps it: the blocks of a cell have the same rows."""
    for each, neighbours in ((None, "replace_one"), (3, "replace_one_person")):
        ledger = curate(rows(replace(geometry(1), rows_per_person=each), [[0.5], [1.0]], [0.0, 1.0])).ledger
        assert ledger.as_dict()["neighbours"] == merge([ledger, ledger]).as_dict()["neighbours"] == neighbours


@pytest.mark.parametrize(
    "options", [*({"epsilon": value} for value in (0.0, -1.0, math.nan, math.inf)), {"delta": 0.0}, {"delta": 1.0}]
)
def test_a_budget_refuses_nonsense(options) -> None:
    with pytest.raises(Refused, match="must be a float in the range"):
        Budget(**options)
