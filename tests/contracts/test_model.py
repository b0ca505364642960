"""A problem of one run or of fewer columns is a copy, and what a model does not provide is an error or a pruned cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from dpbench.contracts.model import ModelUser, Problem


class Plain(Problem):
    """A problem with no capability."""

    def exact(self, sample):
        raise NotImplementedError

    def predict(self, x, weights):
        return x @ weights


@pytest.fixture
def problem(geometry) -> Plain:
    return Plain(geometry(3), np.array([10.0, 11.0]))


def test_the_problem_of_one_run_has_its_n_and_leaves_the_other_alone(problem) -> None:
    single = problem.for_run(1)
    assert single.n.tolist() == [11]
    assert problem.n.tolist() == [10, 11]
    assert single.geometry is problem.geometry


def test_the_problem_on_fewer_columns_has_their_geometry(problem) -> None:
    narrow = problem.with_geometry(problem.geometry.without(["x1"]))
    assert narrow.geometry.columns == ("x0", "x2")
    assert problem.geometry.columns == ("x0", "x1", "x2")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda problem: problem.polynomial(), "Plain has no polynomial loss"),
        (lambda problem: problem.weighted(np.ones((2, 3)), np.ones(2), np.ones(2)), "Plain cannot be fitted to weighted rows"),
        (lambda problem: problem.log_likelihood(np.ones((2, 3)), np.ones(2), np.ones(3), 1.0), "Plain has no likelihood"),
        (lambda problem: problem.irls_weights(np.ones(2), 1.0), "Plain has no weights"),
    ],
)
def test_a_missing_capability_is_an_error_that_names_it(problem, call, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        call(problem)


def test_a_component_that_does_not_declare_persons_is_not_used_on_them(geometry) -> None:
    model = SimpleNamespace(name="linear", provides=frozenset({"polynomial", "gradient"}))

    class Proven(Picky):
        handles_persons = True

    class Rows(Picky):
        rows_only = "it sees rows"

    persons = replace(geometry(2), rows_per_person=3)
    assert Rows().unsupported(model, persons) == "picky does not fit linear: it sees rows."
    assert Rows().unsupported(model, geometry(2)) is None
    assert Proven().unsupported(model, persons) is None


@dataclass(frozen=True)
class Picky(ModelUser):
    """Needs two capabilities and two columns."""

    name: ClassVar[str] = "picky"
    needs: ClassVar[frozenset[str]] = frozenset({"polynomial", "gradient"})

    def refuses(self, model, geometry) -> str | None:
        return "it needs two columns" if geometry.features < 2 else None


@pytest.mark.parametrize(
    ("provides", "features", "sentence"),
    [
        ({"polynomial", "gradient", "weighted"}, 2, None),
        ({"polynomial", "gradient"}, 1, "picky does not fit linear: it needs two columns."),
        ({"polynomial"}, 1, "picky does not fit linear: the model provides no gradient."),
        (set(), 2, "picky does not fit linear: the model provides no gradient and no polynomial."),
    ],
)
def test_a_pruned_cell_gets_one_sentence(provides: set[str], features: int, sentence: str | None, geometry) -> None:
    model = SimpleNamespace(name="linear", provides=frozenset(provides))
    assert Picky().unsupported(model, geometry(features)) == sentence
