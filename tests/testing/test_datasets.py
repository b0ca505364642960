"""Each law about a dataset is broken by a dataset that is wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench import Column, Dataset, Refused, Table
from dpbench.testing import datasets as checks

ROWS = 200


def table(generator: np.random.Generator, high: float = 75, **more: Any) -> Table:
    age = generator.uniform(15, 75, ROWS)
    wage = np.clip(age + generator.normal(0, 10, ROWS), 0, 100)
    columns = (Column("age", 15, high, "years"),)
    return Table(columns, Column("wage", 0, 100, "USD"), age[:, None], wage, threshold=40, **more)


def dataset(load: Any = lambda self, generator: table(generator), **members: Any) -> type:
    body = {"name": "wrong", "__doc__": "Draw wages.", "synthetic": True, "load": load, **members}
    return dataclass(frozen=True)(type("Wrong", (Dataset,), body))


def fixed(self: Dataset, generator: np.random.Generator) -> Table:
    return table(np.random.default_rng(0))


def test_a_good_dataset_keeps_every_law(outcome) -> None:
    outcomes = {check.name: outcome(check, dataset()) for check in checks.CHECKS}
    assert outcomes.pop("origin") == "not applicable: the rows are drawn"
    assert outcomes.pop("bounds source") == "not applicable: anyone may see the rows"
    assert set(outcomes.values()) == {"ok: "}


def test_bounds_in_another_unit_are_named(outcome) -> None:
    days = dataset(lambda self, generator: table(generator, high=10_000_000))
    assert "has bounds [15, 1e+07], and its values cover" in outcome(checks.bounds, days)
    decades = dataset(lambda self, generator: table(generator, high=20))
    assert "'age' has bounds [15, 20], and" in outcome(checks.bounds, decades)
    assert "% of its values lie outside" in outcome(checks.bounds, decades)


def test_a_generator_of_its_own_and_a_global_one_are_named(outcome) -> None:
    own = dataset(lambda self, generator: table(np.random.default_rng()))
    assert outcome(checks.determinism, own) == "failed: Two tables of the same seed have different rows."

    def load(self, generator):
        np.random.random()
        return table(generator)

    assert "Loading used numpy.random" in outcome(checks.determinism, dataset(load))


def test_drawn_rows_that_are_not_declared_and_bounds_of_rows_are_named(outcome) -> None:
    assert "synthetic is False" in outcome(checks.synthetic, dataset(synthetic=False))

    def load(self, generator):
        drawn = table(generator)
        low, high = float(drawn.features.min()), float(drawn.features.max())
        return Table((Column("age", low, high),), drawn.target, drawn.features, drawn.response)

    assert "so they follow from the rows" in outcome(checks.synthetic, dataset(load))


def test_private_rows_whose_bounds_filters_and_scaling_have_no_source_are_named(outcome) -> None:
    """The extremes of the file, a rule for outliers, the file's own mean and deviation."""

    def extremes(self, generator):
        rows = fixed(self, generator)
        (age,), low, high = rows.features.T, rows.response.min(), rows.response.max()
        return Table((Column("age", age.min(), age.max()),), Column("wage", low, high), rows.features, rows.response)

    def without_outliers(self, generator):
        rows = fixed(self, generator)
        return rows.take(np.flatnonzero(np.abs(rows.response - rows.response.mean()) < 2 * rows.response.std()))

    def standardised(self, generator):
        rows = fixed(self, generator)
        wage = (rows.response - rows.response.mean()) / rows.response.std()
        return Table(rows.columns, Column("wage", -3, 3), rows.features, wage)

    for load, read in ((extremes, True), (without_outliers, False), (standardised, False)):
        text = outcome(checks.bounds_source, dataset(load, synthetic=False))
        assert text.startswith("failed: The dataset wrong does not declare where its bounds, filters and scaling come from")
        assert ("In 2 of 2 columns with more than 50 values, both bounds are the rows' own extremes" in text) == read
        assert not any(character.isdigit() for character in text.replace("2 of 2", "").replace("50 values", ""))
    assert outcome(checks.bounds_source, dataset(fixed, synthetic=False, bounds_source="a codebook")) == "ok: "
    assert outcome(checks.bounds_source, dataset(fixed, synthetic=False, bounds_source=" ")).startswith("failed: ")


def test_collected_data_without_licence_citation_or_fingerprint_is_named(outcome) -> None:
    bare = {"synthetic": False, "public": True}
    assert outcome(checks.origin, dataset(fixed, **bare)) == "failed: It has no licence and no citation."
    cited = {**bare, "licence": "CC0", "citation": "A census."}
    assert outcome(checks.origin, dataset(fixed, **cited)) == "failed: Its fingerprint is empty."
    assert outcome(checks.origin, dataset(fixed, **cited, fingerprint=lambda self: "1")) == "ok: "


def test_a_subset_of_unknown_attributes_is_named(outcome) -> None:
    assert "of subset 1" in outcome(checks.attributes, dataset(subsets=lambda self: {1: ("agee",)}))


def test_a_threshold_that_separates_nothing_and_a_shape_that_is_wrong_are_named(outcome) -> None:
    one_class = dataset(lambda self, generator: Table(*_parts(generator), threshold=99.9))
    assert "All rows are of one class at the threshold 99.9." in outcome(checks.scaled_rows, one_class)
    assert "shape() says (3, 1)" in outcome(checks.table, dataset(shape=lambda self: (3, 1)))


def _parts(generator: np.random.Generator) -> tuple[Any, ...]:
    drawn = table(generator)
    return drawn.columns, drawn.target, drawn.features, np.minimum(drawn.response, 99)


def test_data_that_is_elsewhere_is_not_checked(outcome) -> None:
    def load(self, generator):
        raise Refused("Fetch it first.")

    assert outcome(checks.table, dataset(load)) == "not applicable: its table cannot be loaded here: Fetch it first."
