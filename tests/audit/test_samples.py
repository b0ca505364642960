"""The samples and the curator that audits use."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.audit import samples
from dpbench.audit.neighbours import common_rows, random_rows
from dpbench.audit.samples import BoundedRetryCurator, RepeatedSample, Tables
from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Draws
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace
from dpbench.privacy.polynomial import Loss, Polynomial

LINEAR = Loss(curvature=1.0, slope=(0.0, -2.0), printed_slope=2.0, printed_constant=1.0)


@pytest.mark.parametrize(
    "derive",
    [lambda curator: curator, lambda curator: curator.for_run(0), lambda curator: curator.without(["x0"])],
    ids=["itself", "one run", "fewer columns"],
)
def test_drawing_until_accepted_ends_on_every_curator_that_an_audit_derives(derive, geometry, rows, make, monkeypatch) -> None:
    """A loop that never accepts must end with a refusal, also run by run and on fewer columns; it would hang an audit."""
    monkeypatch.setattr(samples, "MAX_REDRAWS", 50)
    sample = WholeSample(rows(geometry(2), [[0.5, 0.5]] * 8, [0.5] * 8))
    curator = derive(BoundedRetryCurator(sample, Draws(0, "t", [(0, 0)]), Budget(2.0, 1e-6, "pure")))
    query = make("model", "linear").prepare(curator).polynomial()
    tries = 0

    def accept(run: int, answer: object) -> bool:
        nonlocal tries
        tries += 1
        assert tries <= 51, "the loop goes on"
        return False

    with pytest.raises(Refused, match="50 times and never accepted"):
        curator.until(query, laplace(1.0, 1.0, "p"), accept)
    assert tries == 51


def test_repeated_rows_and_tables_have_the_sums_of_their_rows(geometry) -> None:
    g = geometry(2, (3,), True)
    tables = [common_rows(g, 5), random_rows(g, np.random.default_rng(1), 5)]
    query = Polynomial(LINEAR, g)
    together = Tables(tables)
    for run, rows in enumerate(tables):
        alone = RepeatedSample(rows, 3)
        expected = query.contribution(rows, 0).sum(axis=0)
        for sample, at in ((together, run), (alone, 2)):
            np.testing.assert_allclose(query.exact(sample)[at], expected, rtol=1e-12)
            np.testing.assert_allclose(sample.sums(query)[at], expected, rtol=1e-12)
            assert sample.n[at] == 5
            assert sample.rows(at) is rows
