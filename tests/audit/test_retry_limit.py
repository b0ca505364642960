"""Drawing again comes to an end in an audit."""

from __future__ import annotations

import pytest

from dpbench.audit import retry_limit
from dpbench.audit.retry_limit import BoundedRetryCurator
from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace
from dpbench.privacy.standard_draws import Draws


@pytest.mark.parametrize(
    "derive",
    [lambda curator: curator, lambda curator: curator.for_run(0), lambda curator: curator.without(["x0"])],
    ids=["itself", "one run", "fewer columns"],
)
def test_drawing_until_accepted_ends_on_every_curator_that_an_audit_derives(derive, geometry, rows, make, monkeypatch) -> None:
    """A loop that never accepts must end with a refusal, also run by run and on fewer columns; it would hang an audit."""
    monkeypatch.setattr(retry_limit, "MAX_REDRAWS", 50)
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
