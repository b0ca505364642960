"""A fit without the sensitive attribute: the base's fit to the remaining columns, with zeros for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.fit import Fit
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Table
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.registry.lookup import registry

BASES = [name for name in registry().names("mechanism") if name not in ("drop_sensitive", "dpc")]
LEFT_OUT = {"a column": ("x1",), "a group": ("g0",), "both": ("x0", "g0")}


@pytest.fixture
def people(table) -> Table:
    """300 rows of 3 numeric columns and two groups, the first one declared sensitive."""
    generator = np.random.default_rng(0)
    levels = [np.eye(size)[generator.integers(size, size=300)] for size in (3, 2)]
    x = np.column_stack([generator.uniform(-1, 1, (300, 3)), *levels])
    return table(x, np.tanh(x @ np.arange(-3.0, 5.0)), (3, 2), sensitive=("g0",), threshold=0.0)


@pytest.fixture
def fitted(make: Callable[..., Any], split: Callable[..., Block]) -> Callable[..., tuple[Fit, Curator]]:
    """Fits a mechanism to two repeats of two folds of rows."""

    def fit(rows: Rows, model: str, mechanism: Any, epsilon: float = 2.0) -> tuple[Fit, Curator]:
        block = split(rows, folds=2)
        budget = Budget(epsilon, 1e-6, mechanism.counted())
        curator = Curator(block.train, Draws(0, "t", block.runs), budget)
        problem = make("model", model, intercept=rows.geometry.intercept).prepare(curator)
        return mechanism.fit(curator, problem, budget), curator

    return fit


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_it_is_the_base_on_the_table_without_the_attribute(base, left_out, people, make, fitted) -> None:
    """Weights, status, health and ledger, in the box, where the other columns are scaled alike; every model the base fits."""
    names = LEFT_OUT[left_out]
    narrow = people.select([name for name in people.attributes if name not in names])
    plain, dropping = make("mechanism", base), make("mechanism", "drop_sensitive", base=base, sensitive=names)
    compared = 0
    for model, intercept in (("linear", True), ("ridge", False), ("logistic", True)):
        target = make("model", model).target
        wide, less = (scale(t, "box", intercept, target) for t in (people, narrow))
        if plain.unsupported(make("model", model), less.geometry):
            assert dropping.unsupported(make("model", model), wide.geometry)
            continue
        assert dropping.unsupported(make("model", model), wide.geometry) is None
        expected, alone = fitted(less, model, plain)
        fit, curator = fitted(wide, model, dropping)
        columns = [wide.geometry.names.index(name) for name in less.geometry.names]
        np.testing.assert_array_equal(fit.weights[:, columns], expected.weights)
        assert (np.delete(fit.weights, columns, axis=1) == 0).all()
        np.testing.assert_array_equal(fit.status, expected.status)
        assert fit.health.keys() == expected.health.keys()
        for event in expected.health:
            np.testing.assert_array_equal(fit.health[event], expected.health[event])
        assert fit.notes == expected.notes
        assert curator.ledger.as_dict() == alone.ledger.as_dict()
        compared += 1
    assert compared


def test_by_default_it_is_least_squares_on_the_remaining_columns(people, make, fitted, split) -> None:
    rows = scale(people, "ball", True, "real")
    fit, curator = fitted(rows, "linear", make("mechanism", "drop_sensitive"))
    assert not curator.ledger.total.private
    block = split(rows, folds=2)
    columns = [0, 1, 2, 3, 7, 8]
    for run, weights in enumerate(fit.weights):
        train, test = block.train.rows(run), block.test.rows(run)
        expected = np.linalg.lstsq(train.x[:, columns], train.y, rcond=None)[0]
        np.testing.assert_allclose(test.x @ weights, test.x[:, columns] @ expected, atol=1e-9)
        assert (weights[[4, 5, 6]] == 0).all()


def test_the_removed_attribute_has_no_influence(people, make, fitted) -> None:
    """Other values of it give the same weights to the bit. Those of dpc change."""
    rows = scale(people, "box", True, "real")
    shuffled = rows.z.copy()
    shuffled[:, 4:7] = shuffled[np.random.default_rng(1).permutation(rows.n), 4:7]
    for name, options, same in (("drop_sensitive", {"base": "fm"}, True), ("dpc", {}, False)):
        mechanism = make("mechanism", name, **options)
        weights = [fitted(r, "linear", mechanism)[0].weights for r in (rows, Rows(shuffled, rows.geometry))]
        assert (weights[0] == weights[1]).all() == same


def test_its_budget_is_counted_as_its_base_s(make) -> None:
    for base in BASES:
        assert make("mechanism", "drop_sensitive", base=base).counted() == make("mechanism", base).counted()


def test_it_says_why_it_cannot_fit(people, geometry, make) -> None:
    g = scale(people, "box", False, "real").geometry
    linear, robust = make("model", "linear"), make("model", "robust")
    sentences = {
        (linear, ()): None,
        (
            linear,
            ("age",),
        ): "drop_sensitive does not fit linear: the table has no attribute named 'age'. Known: g0, g1, x0, x1, x2.",
        (linear, ("x0", "x1", "x2", "g0", "g1")): "drop_sensitive does not fit linear: no attribute remains.",
    }
    for (model, names), sentence in sentences.items():
        assert make("mechanism", "drop_sensitive", sensitive=names).unsupported(model, g) == sentence
    assert make("mechanism", "drop_sensitive", base="fm").unsupported(robust, g) == (
        "drop_sensitive does not fit robust: fm does not fit robust: the model provides no polynomial."
    )
    assert "declares no sensitive attribute" in make("mechanism", "drop_sensitive").unsupported(linear, geometry(2))
    with pytest.raises(Refused, match=r"There is no mechanism named 'truncate'\. Did you mean truncated"):
        make("mechanism", "drop_sensitive", base="truncate").unsupported(linear, g)


@pytest.mark.parametrize("name", ["x1", "x4"])
def test_a_single_level_can_be_left_out_where_columns_are_the_attributes(name, geometry) -> None:
    """What is left of the group is still a group: at most one 1 a row."""
    g = geometry(2, (3,)).without([name])
    assert g.groups == (((1, 2, 3),) if name == "x1" else ((2, 3),))
    assert g.numeric == (1 if name == "x1" else 2)


@pytest.mark.parametrize("sensitivity", ["paper", "fang", "code", "tight"])
def test_the_rule_for_sensitivities_is_the_base_s(sensitivity, people, make, fitted) -> None:
    wide, narrow = (scale(t, "box", True, "real") for t in (people, people.select(["x0", "x1", "x2", "g1"])))
    _, alone = fitted(narrow, "linear", make("mechanism", "fm", sensitivity=sensitivity))
    _, curator = fitted(wide, "linear", make("mechanism", "drop_sensitive", base="fm", sensitivity=sensitivity))
    assert curator.ledger.as_dict() == alone.ledger.as_dict()


def test_published_means_what_it_means_for_the_base(people, make) -> None:
    expected = {"fm": "paper", "dpba": "fang", "privr": "tight", "no_privacy": None, "dpme": None}
    for base, rule in expected.items():
        dropping = make("mechanism", "drop_sensitive", base=base)
        assert dropping.sensitivity_rule("published") == rule
        assert dropping.with_sensitivity("published").sensitivity == (rule or "auto")
        assert dropping.with_sensitivity("tight").sensitivity == ("auto" if rule is None else "tight")
    for chosen in ("paper", "tight"):
        ignored = make("mechanism", "drop_sensitive", base="dpme", sensitivity=chosen)
        assert ignored.with_sensitivity("published").sensitivity == "auto"
    paper = make("mechanism", "drop_sensitive", base="dpba", sensitive=("x0",), sensitivity="paper")
    geometry = scale(people, "box", True, "real").geometry
    assert "its sensitivity must be fang" in str(paper.unsupported(make("model", "linear"), geometry))
