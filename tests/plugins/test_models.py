"""Laws that every model obeys: those of the conformance kit, and that scores and references have the same names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Table
from dpbench.registry.lookup import registry
from dpbench.testing.checks import LawCheck
from dpbench.testing.kinds import case_of, checks_of_kind
from dpbench.testing.running import run_check

MODELS = registry().names("model")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("check", checks_of_kind("model"), ids=lambda check: check.name)
def test_every_model_keeps_the_laws_of_the_kit(name: str, check: LawCheck) -> None:
    model = registry().get("model", name)
    finding = run_check(check, case_of(model), model)
    assert finding.state != "failed", finding.text


@pytest.fixture
def drawn(table: Callable[..., Table]) -> Callable[[str], Rows]:
    """120 rows of 4 columns with a real or a binary target."""

    def rows(target: str) -> Rows:
        generator = np.random.default_rng(2)
        x = generator.uniform(-1, 1, (120, 4))
        y = np.tanh(x[:, 0] - x[:, 2] + 0.4 * generator.normal(size=120))
        return scale(table(x, y, threshold=0.1), "box", True, target)

    return rows


@pytest.mark.parametrize("name", MODELS)
def test_the_fit_of_a_batch_of_folds_is_the_fits_of_its_runs_to_the_bit(name, drawn, split, make, curate) -> None:
    model = make("model", name)
    block: Block = split(drawn(model.target))
    problem = model.prepare(curate(block.train, runs=block.runs))
    together = problem.exact(block.train)
    assert set(together.status) == {"ok"}
    for run in range(block.train.runs):
        single = problem.for_run(run).exact(block.train.for_run(run))
        np.testing.assert_array_equal(single.weights, together.weights[run : run + 1])


@pytest.mark.parametrize("name", MODELS)
def test_scores_and_references_have_the_same_names(name, drawn, split, make, curate, score, score_mean) -> None:
    model = make("model", name)
    block = split(drawn(model.target))
    problem = model.prepare(curate(block.train, runs=block.runs))
    scores = score(model, problem.exact(block.train).weights, block.test)
    assert scores.keys() == score_mean(model, block.train, block.test).keys()
