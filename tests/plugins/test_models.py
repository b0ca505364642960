"""Laws that every model obeys."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Table
from dpbench.registry.lookup import registry

MODELS = registry().names("model")


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
def test_the_fit_of_a_batch_is_the_fits_of_its_runs(name, drawn, split, make, curate) -> None:
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
    reference = score_mean(model, block.train, block.test)
    assert scores.keys() == reference.keys()
    assert (scores[model.primary] < reference[model.primary]).all(), "smaller is better, and the fit is better than the mean"


@pytest.mark.parametrize("name", [name for name in MODELS if "weighted" in registry().get("model", name).provides])
def test_weighted_rows_count_as_often_as_their_weight(name, drawn, make, curate) -> None:
    """The weights add up to n, because a penalty is multiplied by n."""
    model = make("model", name)
    rows = drawn(model.target)
    weight = np.bincount(np.random.default_rng(0).integers(rows.n, size=rows.n), minlength=rows.n)
    counted = Rows(np.repeat(rows.z, weight, axis=0), rows.geometry)
    expected = model.prepare(curate(counted)).exact(WholeSample(counted)).weights[0]
    weights = model.prepare(curate(rows)).weighted(rows.x, rows.y, weight.astype(float))
    np.testing.assert_allclose(rows.x @ weights, rows.x @ expected, atol=1e-5)
