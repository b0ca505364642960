"""A view answers like its curator, and shows nothing else of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.data.bins import Binning
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import CALLS, CuratorView, closed
from dpbench.privacy.noise import geometric, laplace
from dpbench.privacy.queries.histogram import Histogram


@pytest.fixture
def opened(geometry, rows, repeated, curate) -> Any:
    generator = np.random.default_rng(0)
    sample = repeated(rows(geometry(2), generator.uniform(-1, 1, (9, 2)), generator.uniform(-1, 1, 9)), 3)
    return lambda: curate(sample, 50.0)


def test_every_call_is_answered_as_by_the_curator_itself(opened, make) -> None:
    curator, viewed = opened(), opened()
    view = closed(viewed)
    assert (view.geometry, view.n.tolist(), view.runs) == (curator.geometry, [9.0] * 3, 3)
    query = make("model", "linear", intercept=False).prepare(view).polynomial()
    histogram = Histogram(Binning(curator.geometry, 2))
    noise = laplace(1.0, 1.0, "p")

    def answers(asked: Any) -> list[Any]:
        return [
            asked.release(query, noise),
            asked.until(query, noise, lambda run, answer: answer[0] > 0)[0],
            next(asked.scan(histogram, noise, 4).blocks(1))[1],
            [summary.counts for summary in asked.sparse(histogram, geometric(2, 1.0, "p"), 1, 5)],
            asked.unproven(query, lambda exact, generator: exact + generator.normal(), noise.cost, "r"),
            asked.reveal("n", lambda sample: sample.n, "r"),
            asked.leak("n", "w", lambda sample: sample.n),
            asked.without(["x0"]).geometry.columns,
            asked.for_run(2).release(query, noise),
        ]

    for own, other in zip(answers(curator), answers(view), strict=True):
        np.testing.assert_equal(own, other)
    assert viewed.ledger.entries == curator.ledger.entries
    assert viewed.ledger.leaks == curator.ledger.leaks


def test_a_view_shows_no_rows_no_streams_no_tape_and_no_ledger(opened) -> None:
    view: Any = closed(opened())
    for seen in (view, view.without(["x1"]), view.for_run(0)):
        assert isinstance(seen, CuratorView)
        public = {name for name in dir(seen) if not name.startswith("_")}
        assert public == {*CALLS, "geometry", "n", "runs"}
        for name in ("_sample", "_draws", "tape", "ledger"):
            with pytest.raises(AttributeError):
                getattr(seen, name)
        with pytest.raises(KeyError):
            seen._call("_exact")


def test_a_view_of_a_view_is_itself(opened) -> None:
    view = closed(opened())
    assert closed(view) is view
    assert {name for name in CALLS if not callable(getattr(Curator, name))} == set()
