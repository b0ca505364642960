"""A transcript holds what a mechanism was told, and is enough for the same fit without any row."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.audit.neighbours import common_rows
from dpbench.audit.subject import example_geometry
from dpbench.audit.transcript import Transcript, fit_again, transcript_of
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation

RUNS = 3


MECHANISMS = {name: {} for name in ("fm", "dpba", "dpme", "fp", "cdp_irls")} | {"drop_sensitive": {"base": "fm"}}


@pytest.fixture(params=MECHANISMS)
def told(request, make) -> tuple[Fit, Transcript]:
    """A fit on made-up rows, and its transcript after a journey to another process."""
    model, mechanism = make("model", "linear"), make("mechanism", request.param, **MECHANISMS[request.param])
    sample = WholeSample(*(common_rows(example_geometry(model, 2, 3), 60 + run) for run in range(RUNS)))
    curator = Curator(sample, Draws(0, "test", [(run, 0) for run in range(RUNS)]), Budget(1.0, 1e-6, mechanism.counted()))
    curator.tape = []
    fit = fit_closed(mechanism, model.prepare(closed(curator)), curator, curator.ledger.budget)
    parts: Any = ({"name": part.name, **part.options()} for part in (mechanism, model))
    return fit, pickle.loads(pickle.dumps(transcript_of(*parts, curator.ledger.budget, sample, curator.tape)))


def test_it_is_enough_for_the_same_fit(told) -> None:
    fit, transcript = told
    assert fit_again(transcript, False).weights.tobytes() == fit.weights.tobytes()


def test_it_holds_no_exact_answer(told) -> None:
    assert all(answer.exact is None for answer in told[1].answers)


def test_a_run_has_the_same_result_when_all_runs_got_its_answers(told) -> None:
    fit, transcript = told
    again = fit_again(transcript.with_answers_of(1), True)
    np.testing.assert_allclose(again.weights[1], fit.weights[1], rtol=1e-9)


def test_a_call_that_is_not_in_it_is_a_violation(told) -> None:
    with pytest.raises(Violation):
        fit_again(replace(told[1], answers=()), False)
