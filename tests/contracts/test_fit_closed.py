"""A plugin cannot change what the core hands it, nor the core itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.data.blocks import Block
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Laplace, laplace
from dpbench.registry.lookup import registry

BUDGET = Budget(0.9, 1e-6, "pure")


def _fm() -> Any:
    return registry().get("mechanism", "fm").build({})


def curator_of(block: Block) -> Curator:
    return Curator(block.train, Draws(0, "t", block.runs), BUDGET)


class Vandal(Mechanism):
    """Does what ``harm`` says to what it is handed, and then what fm does."""

    name = "vandal"
    harm: Any = None

    def fit(self, curator: Any, problem: Any, budget: Any) -> Any:
        type(self).harm(curator, problem)
        return _fm().fit(curator, problem, budget)


def test_a_plugin_cannot_change_the_problem_that_other_cells_use(block, make) -> None:
    problem = make("model", "ridge").prepare(curator_of(block))
    before = fit_closed(_fm(), problem, curator_of(block), BUDGET).weights
    problem.exact(block.train)
    seen: list[Any] = []

    def harm(curator: Any, own: Any) -> None:
        seen.append(own)
        own.penalty = own.penalty * 1e6

    Vandal.harm = staticmethod(harm)
    fit_closed(Vandal(), problem, curator_of(block), BUDGET)
    np.testing.assert_array_equal(fit_closed(_fm(), problem, curator_of(block), BUDGET).weights, before)
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
