"""A table in which persons have several rows: a sweep, its records and report, and a release promise privacy to persons."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.base.errors import Refused
from dpbench.releases import fit_release
from dpbench.releases.released_intervals import ReleasedIntervals
from dpbench.sweeps.hydra.composition import grid_points

BOUNDS = {"hours": [0, 60], "age": [15, 75], "pay": [0, 100]}
SMALL = {"splits.repeats": 2, "splits.folds": 3, "engine": "serial", "audit.level": "none"}


def visits(persons: int = 80, most: int = 5) -> pandas.DataFrame:
    """Between one and five rows of each person, in mixed order."""
    generator = np.random.default_rng(3)
    who = generator.permutation(np.repeat(np.arange(persons), generator.integers(1, most + 1, persons)))
    hours, age = generator.uniform(0, 60, len(who)), generator.uniform(15, 75, len(who))
    pay = 0.8 * hours + 0.3 * age + generator.normal(0, 5, len(who))
    return pandas.DataFrame({"who": [f"p{person}" for person in who], "hours": hours, "age": age, "pay": pay})


def swept(frame: pandas.DataFrame, mechanisms: list[str], **options: Any) -> pandas.DataFrame:
    """The cells of a sweep over the frame, by mechanism."""
    data = {"dataset.path": frame, "dataset.target": "pay", "dataset.bounds": BOUNDS}
    result = dpbench.sweep({**SMALL, **data, **options}, record=False, dataset="table", mechanism=mechanisms, epsilon=1)
    return result.full.set_index("mechanism")


PERSONS = {"dataset.person": "who", "dataset.rows_per_person": 3}


def test_every_mechanism_that_handles_persons_spends_its_epsilon_on_a_person() -> None:
    mechanisms = ["no_privacy", "fm", "dpba", "dpme", "fp", "cdp_irls"]
    frame = visits()
    cells = swept(frame, mechanisms, **PERSONS)
    assert sorted(cells.index) == sorted(mechanisms)
    for name in ("fm", "dpba", "dpme", "fp"):
        assert cells.loc[name, "privacy/epsilon_accounted"] == pytest.approx(1.0)
    beyond = sum(max(count - 3, 0) for count in frame["who"].value_counts())
    assert beyond > 0
    assert set(cells["dpbench.rows_beyond_limit"]) == {str(beyond)}


def test_non_private_fits_and_all_scores_use_the_rows_there_are() -> None:
    """With one row each, the splits are those of the plain table, and so are all numbers without noise, whatever the limit."""
    frame = visits().drop_duplicates("who")
    plain = swept(frame.drop(columns="who"), ["no_privacy"])
    persons = swept(frame, ["no_privacy"], **PERSONS)
    names = [name for name in plain.columns if name.startswith(("utility/", "reference/"))]
    assert len(names) > 5
    for name in names:
        np.testing.assert_array_equal(plain[name].to_numpy(), persons[name].to_numpy(), err_msg=name)


def test_what_is_made_for_single_rows_is_pruned_with_the_reason() -> None:
    attacked = swept(visits(), ["fm"], **{**PERSONS, "attack": "membership"})
    published = swept(visits(), ["cdp_irls"], **{**PERSONS, "mechanism.variant": "published"})
    for cells, reason in (
        (attacked, "it guesses about single rows"),
        (published, "proven for neighbours that differ in one row"),
    ):
        assert set(cells["state"]) == {"pruned"}
        assert reason in cells["reason"].iloc[0]


def test_the_audit_of_a_cell_replays_persons() -> None:
    cells = swept(visits(), ["fm"], **{**PERSONS, "audit.level": "replay"})
    assert cells["dpbench.sound"].all()


@pytest.mark.parametrize(("rows", "guarantee"), [("1", "sound"), ("curator.geometry.replaced_rows", "refuted")])
def test_a_plugin_that_takes_its_bound_for_one_row_is_refuted(rows: str, guarantee: str, drop_in) -> None:
    source = """
        from dataclasses import dataclass
        from typing import ClassVar

        from dpbench import Fit, Mechanism, hookimpl
        from dpbench.privacy.noise import laplace

        @dataclass(frozen=True)
        class OneRow(Mechanism):
            '''The bound of one row, where a person has several.'''

            name: ClassVar[str] = "one_row"
            handles_persons: ClassVar[bool] = True

            def fit(self, curator, problem, budget):
                objective = problem.polynomial()
                bound = objective.l1_bound("tight") / ROWS
                answer = curator.release(objective, laplace(bound, budget.epsilon, "wrong"))
                quadratic = objective.quadratic(answer, problem.n)
                return Fit.good(problem.minimise(problem.regularised(quadratic).floored(1.0)))

        @hookimpl
        def dpbench_mechanisms():
            return [OneRow]
        """
    drop_in(source.replace("ROWS", rows))
    cells = swept(visits(), ["one_row"], **{**PERSONS, "audit.level": "replay"})
    assert set(cells["dpbench.guarantee"]) == {guarantee}
    assert ("L1 sensitivity" in str(list(cells.get("dpbench.guarantee_why", [])))) == (guarantee == "refuted")


@pytest.mark.skipif(importlib.util.find_spec("opendp") is None, reason="OpenDP is not installed")
def test_a_release_promises_privacy_to_persons(tmp_path: Path) -> None:
    visits(400).to_csv(tmp_path / "visits.csv", index=False)
    options = [f"dataset.path={tmp_path}/visits.csv", "dataset.target=pay", "dataset.person=who", "dataset.rows_per_person=3"]
    bounds = "dataset.bounds={hours: [0, 60], age: [15, 75], pay: [0, 100]}"
    (point,) = grid_points(["mechanism=fm", "model=linear", "dataset=table", "epsilon=1", bounds, *options])
    release = fit_release.release(point.config)
    privacy = release.privacy
    assert (privacy["neighbours"], privacy["persons"], privacy["rows_per_person"]) == ("replace_one_person", 400, 3)
    assert "rows" not in privacy  # their number is private
    (entry,) = privacy["ledger"]["entries"]
    assert entry["scale"] == pytest.approx(3 * 4**2, rel=1e-6)  # (D + 1)² for each row, at ε = 1
    assert privacy["ledger"]["neighbours"] == "replace_one_person"
    assert "400 persons, of whom each has at most 3 rows that count" in release.statement
    assert "for one person with all rows" in release.statement
    assert isinstance(release.inference, ReleasedIntervals)
    assert release.inference.covers == "table", "rows of one person resemble each other"
    with pytest.raises(Refused, match="a future row comes from the population"):
        release.predict({"hours": [40], "age": [30]}, interval=0.95)
    facts = {**release.privacy, "statement": release.statement, "inference": release.inference.sentence}
    assert str(len(visits(400))) not in json.dumps(facts)
