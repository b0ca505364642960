"""What is audited, its random streams, and what it claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.accounting.costs import Gdp, Pure
from dpbench.audit import subject as subject_module
from dpbench.audit.neighbours import common_rows
from dpbench.audit.subject import (
    AuditSettings,
    AuditSubject,
    BoundedRetryCurator,
    ClaimedPrivacy,
    example_geometries,
    example_geometry,
)
from dpbench.audit.wording import describe_geometry
from dpbench.base.errors import Refused
from dpbench.data.samples import WholeSample
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, laplace


@pytest.fixture
def subject(make):
    def build(
        mechanism: str = "fm", currency: str = "pure", model: str = "linear", epsilon: float = 1.0, **options
    ) -> AuditSubject:
        component = make("model", model)
        budget = Budget(epsilon, 1e-6, currency)
        return AuditSubject(
            make("mechanism", mechanism, **options), component, budget, example_geometry(component, 2), AuditSettings()
        )

    return build


def test_a_claim_is_in_gdp_only_if_all_of_it_is() -> None:
    assert ClaimedPrivacy.of([Gdp(0.6), Gdp(0.8)], 1e-6).mu == pytest.approx(1.0)
    assert ClaimedPrivacy.of([Gdp(0.6), Pure(0.1)], 1e-6).mu is None
    assert ClaimedPrivacy.of([Pure(0.6), Pure(0.1)], 1e-6) == ClaimedPrivacy(0.7, 0.0)


def test_a_fit_claims_what_its_ledger_says(subject) -> None:
    fm = ClaimedPrivacy.of_fit(subject("fm").tape_fit())
    assert fm == ClaimedPrivacy(pytest.approx(1.0), 0.0)
    curator = subject("cdp_irls", "zcdp", variant="published", epsilon=0.5).tape_fit()
    total = curator.ledger.total
    assert total.delta > 0
    assert ClaimedPrivacy.of_fit(curator) == ClaimedPrivacy(total.epsilon, total.delta, None), "its noise has no law, and no μ"


def test_a_fit_whose_noise_is_all_normal_claims_its_mu_though_its_budget_is_in_rho(subject) -> None:
    """ρ = μ²/2."""
    curator = subject("cdp_irls", "zcdp", distribution="gaussian", model="robust").tape_fit()
    assert len(curator.ledger.entries) > 1
    assert ClaimedPrivacy.of_fit(curator).mu == pytest.approx(np.sqrt(2 * curator.ledger.budget.epsilon))


def test_fits_are_the_same_in_batches_of_any_size_and_differ_between_pairs_and_streams(subject, monkeypatch) -> None:
    fm = subject()
    table = common_rows(fm.geometry, 8)
    together = fm.repeat_fits(table, 10, "a test")
    assert len(np.unique(together[:, 0])) == 10
    monkeypatch.setattr(subject_module, "BATCH_RUNS", 4)
    assert [curator.runs for curator in fm.curators(table, 10, "a test")] == [4, 4, 2]
    np.testing.assert_array_equal(fm.repeat_fits(table, 10, "a test"), together)
    others = (replace(fm, pair=1), replace(fm, settings=AuditSettings(seed=1)))
    for weights in (*(other.repeat_fits(table, 10, "a test") for other in others), fm.repeat_fits(table, 10, "another")):
        assert not np.isin(weights, together).any()


def test_a_taped_fit_has_the_rows_of_the_settings(subject) -> None:
    fm = replace(subject(), settings=AuditSettings(rows=23))
    curator = fm.tape_fit()
    assert curator.n.tolist() == [23.0]
    assert len(curator.tape) == len(curator.ledger.entries) == 1


@pytest.mark.parametrize(
    ("name", "values", "outside"),
    [
        ("runs", (200,), (199, 0)),
        ("pairs", (1, 20), (0, 21)),
        ("confidence", (0.5, 0.9999), (0.49, 1.0)),
        ("rows", (1, 100_000), (0, 100_001)),
        ("seed", (0,), (-1,)),
    ],
)
def test_every_setting_is_refused_outside_its_limits(name, values, outside) -> None:
    for value in values:
        assert getattr(AuditSettings(**{name: value}), name) == value
    for value in outside:
        with pytest.raises(Refused, match=f"'{name}' option of the audit"):
            AuditSettings(**{name: value})


def test_the_defaults_are_the_documented_ones() -> None:
    """docs/privacy.md: a false alarm of 1e-4 for each geometry."""
    settings = AuditSettings()
    assert (settings.level, settings.runs, settings.pairs, settings.confidence, settings.rows) == ("all", 5_000, 2, 0.9999, 8)


def test_there_are_two_shapes_in_the_box_and_in_the_ball(make) -> None:
    assert [describe_geometry(geometry) for geometry in example_geometries(make("model", "linear"))] == [
        "1 numeric column, box, an intercept, D = 2",
        "2 numeric columns and 1 one-hot group, box, an intercept, D = 6",
        "1 numeric column, ball, an intercept, D = 2",
        "2 numeric columns and 1 one-hot group, ball, an intercept, D = 6",
    ]


def test_without_an_intercept_there_are_two_shapes_in_the_corner_too(make) -> None:
    assert [describe_geometry(geometry) for geometry in example_geometries(make("model", "linear", intercept=False))][4:] == [
        "1 numeric column, corner, no intercept, D = 1",
        "3 numeric columns, corner, no intercept, D = 3",
    ]


def test_a_row_of_the_ball_shares_the_norm_with_the_intercept_and_the_first_attribute_is_sensitive(make) -> None:
    geometry = example_geometry(make("model", "linear"), 2, 3, "ball")
    assert geometry.constant == pytest.approx(4**-0.5), "two columns, a group and the intercept"
    assert example_geometry(make("model", "linear", intercept=False), 2, 3, "ball").constant == 1.0
    assert geometry.sensitive == ("x0",)
    assert geometry.attributes == ("x0", "x1", "group", "group", "group")
    assert geometry.groups == ((2, 3, 4),)
    assert geometry.target == "real"
    assert example_geometry(make("model", "logistic"), 1).target == "binary"


@pytest.mark.parametrize(
    "derive",
    [lambda curator: curator, lambda curator: curator.for_run(0), lambda curator: curator.without(["x0"])],
    ids=["itself", "one run", "fewer columns"],
)
def test_drawing_until_accepted_ends_on_every_curator_that_an_audit_derives(derive, geometry, rows, make, monkeypatch) -> None:
    """A loop that never accepts must end with a refusal, also run by run and on fewer columns; it would hang an audit."""
    monkeypatch.setattr(subject_module, "MAX_REDRAWS", 50)
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
