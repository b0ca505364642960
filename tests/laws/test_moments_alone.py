"""A mechanism or model that says that sums of products, or counts, are enough never asks for rows, and any other one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.contracts.mechanism import fit_closed
from dpbench.data.bins import BinCounts, Binning
from dpbench.data.scaling import scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import registry
from dpbench.testing.checks import Failure
from dpbench.testing.privacy_claims import SumsOnly

RUNS = 2
OUTSIDE = ("diffprivlib", "opendp_theil_sen")
"""They hand rows to programs that may not be installed."""


class SumsAndCounts(SumsOnly):
    """A sample that gives counts of bins as well, and no rows."""

    def bin_counts(self, binning: Binning, run: int) -> BinCounts:
        return binning.count(binning.locate(self._tables[self._table_of_run[run]]))


def asks(mechanism: Any, model: Any, table: Any, sample: type[SumsOnly] = SumsOnly) -> bool | None:
    """Say whether preparing the model or fitting the mechanism asks for rows; None if they do not fit together."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (400, 3))
    whole = table(
        x, (x.sum(axis=1) > 0) * 1.0 if model.target == "binary" else x.sum(axis=1) / 4, threshold=0.5, sensitive=("x0",)
    )
    rows = scale(whole, "box", model.intercept, model.target)
    if mechanism.unsupported(model, rows.geometry):
        return None
    budget = Budget(1.0, 1e-6, mechanism.counted())
    curator = Curator(sample(*[rows] * RUNS), Draws(0, "t", [(run, 0) for run in range(RUNS)]), budget)
    try:
        fit_closed(mechanism, model.prepare(curator), curator, budget)
    except Failure:
        return True
    return False


@pytest.mark.parametrize("name", sorted(set(registry().names("mechanism")) - {*OUTSIDE}))
def test_a_mechanism_says_whether_it_needs_rows(name: str, make: Any, table: Any) -> None:
    mechanism = make("mechanism", name)
    models = [make("model", model) for model in ("linear", "ridge", "lasso")]
    answers = {asks(mechanism, model, table) for model in models} - {None}
    if not answers:
        pytest.skip(f"{name} fits no model whose own fit needs sums alone")
    assert answers == {not mechanism.uses_moments_alone()}
    if mechanism.counts_alone or True in answers:
        counted = {asks(mechanism, model, table, SumsAndCounts) for model in models} - {None}
        assert counted == {not mechanism.counts_alone}


def test_the_answer_of_a_mechanism_around_another_one_is_that_one_s(make: Any, table: Any) -> None:
    for base in ("no_privacy", "fm", "privr"):
        mechanism = make("mechanism", "drop_sensitive", base=base)
        assert mechanism.uses_moments_alone() == make("mechanism", base).uses_moments_alone()
        assert asks(mechanism, make("model", "linear"), table) != mechanism.uses_moments_alone()


@pytest.mark.parametrize("name", sorted(registry().names("model")))
def test_a_model_says_whether_its_non_private_fit_needs_rows(name: str, make: Any, table: Any) -> None:
    model = make("model", name)
    assert asks(make("mechanism", "no_privacy"), model, table) != model.uses_moments_alone()
    if hasattr(model, "penalty"):
        chosen = make("model", name, penalty="cv")
        assert not chosen.uses_moments_alone()
        assert asks(make("mechanism", "no_privacy"), chosen, table)
